// What a function returned, made an object that others can fetch.
#include <gtest/gtest.h>

#include <functional>

#include "ids.h"
#include "protocol/message_limits.h"
#include "worker/interpreter/outcomes.h"

namespace pounce::worker {
namespace {

const SessionId kAlice = id_of<SessionId>(1), kOther = id_of<SessionId>(2);
const ObjectId kObject = id_of<ObjectId>(7);

JobResult returned(std::string pickle, std::vector<std::string> buffers) {
  JobResult result;
  result.ok = true;
  result.pickle = own_bytes(std::move(pickle));
  for (std::string& buffer : buffers) result.buffers.push_back(own_bytes(std::move(buffer)));
  return result;
}

class KeptResultsTest : public testing::Test {
 protected:
  KeptResults::Event made(memory::BlockPool& pool) {
    for (;;)
      if (auto news = kept.step(pool)) return *std::move(news);
  }
  std::vector<std::string> texts() const {
    const ObjectUse use = *store.use(kObject);
    std::vector<std::string> all;
    for (const WritableBytes& part : use.buffers) all.emplace_back(part.text());
    return all;
  }

  KeptResults kept;
  ObjectStore store{0};
};

TEST_F(KeptResultsTest, AreCopiedSomeAtATimeAndLieInTheStoreAsTheyWereReturned) {
  const std::vector<std::string> buffers{"small", std::string(40'000'000, 'l'), ""};
  kept.keep(kAlice, kObject, returned("pickle", buffers));
  EXPECT_FALSE(kept.step(store.pool())) << "40 MB take more than one step";

  auto news = made(store.pool());

  EXPECT_EQ(news.session, kAlice);
  EXPECT_EQ(store.announce(kAlice, *std::move(news.made)), ObjectStore::Receipt::kWhole);
  EXPECT_EQ(texts(), buffers);
  EXPECT_TRUE(kept.empty());
}

TEST_F(KeptResultsTest, HaveALargePickleAsTheirFirstPart) {
  kept.keep(kAlice, kObject, returned(std::string(protocol::kInlineBytes + 1, 'p'), {"b"}));

  auto news = made(store.pool());

  EXPECT_TRUE(news.made->pickle_follows);
  EXPECT_EQ(news.made->sizes, (std::vector<std::uint64_t>{protocol::kInlineBytes + 1, 1}));
  EXPECT_EQ(store.announce(kAlice, *std::move(news.made)), ObjectStore::Receipt::kWhole);
  EXPECT_EQ(store.use(kObject)->pickle.bytes.size(), protocol::kInlineBytes + 1);
}

TEST_F(KeptResultsTest, AreNotMadeWhereThereIsNoMemoryForThem) {
  const auto refuses = [](std::uint64_t) -> Result<void> { return failure(ErrorCode::kOutOfMemory, "there is none"); };
  memory::BlockPool none(0, refuses);
  kept.keep(kAlice, kObject, returned("pickle", {"b"}));

  EXPECT_FALSE(made(none).made);
  EXPECT_TRUE(kept.empty());
}

TEST_F(KeptResultsTest, OfASessionThatIsGoneAreForgotten) {
  kept.keep(kAlice, kObject, returned("pickle", {"b"}));
  kept.keep(kOther, id_of<ObjectId>(8), returned("pickle", {"b"}));

  kept.drop_all(kAlice);

  EXPECT_EQ(made(store.pool()).session, kOther);
}

}  // namespace
}  // namespace pounce::worker
