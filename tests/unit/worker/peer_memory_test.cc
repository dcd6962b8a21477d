#include "worker/interpreter/peer_memory.h"

#include <gtest/gtest.h>

#include <string>

#include "bulk/lane.h"
#include "ids.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;

const SessionId kAlice = id_of<SessionId>(1);
const ObjectId kObject = id_of<ObjectId>(7), kOther = id_of<ObjectId>(8);
const TimePoint kNow = TimePoint{} + 100s;

std::shared_ptr<memory::MemoryBlock> block_of(const std::string& text) {
  std::shared_ptr<memory::MemoryBlock> block = std::move(*memory::MemoryBlock::make(4096));
  EXPECT_TRUE(block->write(64, std::as_bytes(std::span(text))));
  return block;
}

// Two workers of one machine.
class PeerMemoryTest : public testing::Test {
 protected:
  void serve(const ObjectId& object) {
    giver.serve(kAlice, "reader", keys, {object, "pickle", {3}, false, block, {64}});
  }
  PeerMemory::Wanted wanted(const ObjectId& object) const {
    return {{object, {3}, {}, false, true, "tcp://10.0.0.7:40002"}, "pickle", keys};
  }
  static void turn(PeerMemory& relays) {
    transport::PollSet polled;
    relays.add_to(polled);
    polled.wait(Clock::now());
    relays.accept_waiting(polled);
  }

  const std::string keys = bulk::new_keys(1);
  const std::shared_ptr<memory::MemoryBlock> block = block_of("abc");
  PeerMemory giver, reader;
};

TEST_F(PeerMemoryTest, BothHaveTheSameMemoryAndNeitherCanWriteIt) {
  serve(kObject);
  ASSERT_TRUE(reader.take(kAlice, wanted(kObject), kNow));
  turn(giver);
  const auto news = reader.events(kNow);
  ASSERT_EQ(news.size(), 1u);
  ASSERT_TRUE(news[0].came);

  ObjectStore store(0);
  EXPECT_EQ(store.announce(kAlice, *news[0].came), ObjectStore::Receipt::kWhole);
  const auto use = store.use(kObject);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(use->buffers[0].bytes.data()), 3), "abc");
  EXPECT_FALSE(news[0].came->block->write(64, std::as_bytes(std::span("xyz", 3))));
  EXPECT_FALSE(block->reusable());
  EXPECT_TRUE(reader.events(kNow).empty());
}

TEST_F(PeerMemoryTest, WhereNobodyServesTheLaneIsTakenAtOnce) {
  EXPECT_FALSE(reader.take(kAlice, wanted(kObject), kNow));
}

TEST_F(PeerMemoryTest, AfterTheEndOfServingNobodyIsThere) {
  serve(kObject);
  giver.end_serving(kAlice, "reader");
  EXPECT_FALSE(reader.take(kAlice, wanted(kObject), kNow));
}

TEST_F(PeerMemoryTest, AnObjectThatWasNotServedIsRefused) {
  serve(kObject);
  ASSERT_TRUE(reader.take(kAlice, wanted(kOther), kNow));
  turn(giver);
  turn(giver);  // lets go of whom it cut
  const auto news = reader.events(kNow);
  ASSERT_EQ(news.size(), 1u);
  EXPECT_FALSE(news[0].came);
  EXPECT_EQ(news[0].wanted.object.object, kOther);
}

TEST_F(PeerMemoryTest, ASourceThatSaysNothingIsGivenUpAfterTwoSeconds) {
  serve(kObject);
  ASSERT_TRUE(reader.take(kAlice, wanted(kObject), kNow));
  EXPECT_EQ(reader.next_deadline(), kNow + 2s);
  EXPECT_TRUE(reader.events(kNow + 1s).empty());
  ASSERT_EQ(reader.events(kNow + 2s).size(), 1u);
  EXPECT_EQ(reader.next_deadline(), TimePoint::max());
}

}  // namespace
}  // namespace pounce::worker
