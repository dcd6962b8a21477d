// An object that several workers need: each is told where to fetch it, and the client and each worker are asked few
// times.
#include <bit>

#include "unit/client/world.h"

namespace pounce::client {
namespace {

constexpr std::size_t kLarge = 4 * 1024 * 1024 + 1;

class PeerTransfersTest : public LanesTest {
 protected:
  void SetUp() override {
    LanesTest::SetUp();
    if (IsSkipped()) return;
    Object made{own_bytes("pickle"), {own_bytes(std::string(kLarge, 'b'))}};
    object = digest_object(made.pickle, made.buffers);
    engine->hold_object(object, std::move(made), false);
  }

  // So many workers, each with a task that needs the object.
  void begin(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) tasks.push_back(submit({object}));
    for (std::size_t i = 0; i < count; ++i) attach_one();
  }
  void attach_one() {
    const std::size_t number = workers.size();
    workers.emplace_back(std::make_unique<Peer>(servers, "data", worker_keys, "tcp://127.0.0.1:*"));
    lanes.emplace_back();
    grant(static_cast<int>(number) + 1, *workers.back());
    see_to([&] { return workers[number]->count<protocol::Attach>() == 1; });
    protocol::Attached who;
    who.bulk = acceptor->endpoint();
    workers[number]->say(who, {bulk::to_bytes(acceptor->keys_for(std::to_string(number)))});
  }
  void see_to(const std::function<bool()>& condition, int line = __builtin_LINE()) {
    settle(
        [&] {
          while (auto accepted = acceptor->accept())
            lanes.at(std::stoul(accepted->first)).add(std::move(accepted->second));
          return condition();
        },
        line);
  }

  // What a worker does that has all it is asked for.
  void work() {
    for (std::size_t i = 0; i < workers.size(); ++i) {
      Peer& worker = *workers[i];
      const auto asked = worker.all<protocol::Serve>();
      for (std::size_t& next = answered[i]; next < asked.size(); ++next)
        if (!asked[next].over) worker.say(protocol::Serve{asked[next].object, asked[next].to, !serves});
      const auto announced = worker.count<protocol::Object>();
      for (std::size_t& next = there[i]; next < announced; ++next) worker.say(protocol::Have{object});
    }
  }
  bool all_have_their_tasks() const {
    return std::ranges::all_of(workers,
                               [](const auto& worker) { return worker->template count<protocol::Task>() == 1; });
  }
  std::size_t sent_by_client() const {
    std::size_t sends = 0;
    for (const auto& worker : workers)
      for (const auto& one : worker->all<protocol::Object>()) sends += one.source.empty();
    return sends;
  }
  static std::size_t served_by(const Peer& worker) {
    std::size_t sends = 0;
    for (const auto& one : worker.all<protocol::Serve>()) sends += !one.over;
    return sends;
  }

  std::deque<bulk::Lane> lanes;
  ObjectId object;
  std::vector<TaskId> tasks;
  std::map<std::size_t, std::size_t> answered, there;
  bool serves = true;
};

class ObjectForMany : public PeerTransfersTest, public testing::WithParamInterface<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(, ObjectForMany, testing::Values(1, 2, 4, 8));

TEST_P(ObjectForMany, IsSentByNobodyMoreThanLog2OfTheirNumberAndOneTimes) {
  begin(GetParam());

  see_to([&] { return work(), all_have_their_tasks(); });

  const auto most = static_cast<std::size_t>(std::bit_width(GetParam()));
  std::size_t all = sent_by_client();
  EXPECT_LE(all, most);
  for (const auto& worker : workers) {
    EXPECT_LE(served_by(*worker), most);
    all += served_by(*worker);
  }
  EXPECT_EQ(all, GetParam());
}

TEST_F(PeerTransfersTest, NobodyIsAskedForWhatLiesOnADevice) {
  Object made{own_bytes("for a device"), {own_bytes(std::string(kLarge, 'b'))}, "cuda"};
  object = digest_object(made.pickle, made.buffers);
  engine->hold_object(object, std::move(made), false);
  begin(3);

  see_to([&] { return work(), all_have_their_tasks(); });

  EXPECT_EQ(sent_by_client(), 3u);
  for (const auto& worker : workers) {
    EXPECT_EQ(served_by(*worker), 0u);
    EXPECT_EQ(worker->all<protocol::Object>().front().device, "cuda");
  }
}

TEST_F(PeerTransfersTest, TheReaderIsToldWhereWithTheKeysOfItsSource) {
  begin(2);

  see_to([&] { return work(), all_have_their_tasks(); });

  EXPECT_EQ(workers[1]->all<protocol::Object>().front().source, acceptor->endpoint());
  const auto told = std::ranges::find_if(
      workers[1]->heard, [](const auto& one) { return std::holds_alternative<protocol::Object>(one.header); });
  ASSERT_EQ(told->payload.size(), 2u);
  const auto asked = std::ranges::find_if(
      workers[0]->heard, [](const auto& one) { return std::holds_alternative<protocol::Serve>(one.header); });
  EXPECT_EQ(told->payload[1], asked->payload.at(0));
  see_to([&] { return workers[0]->all<protocol::Serve>().back().over; });
}

TEST_F(PeerTransfersTest, WhatASourceHasNotGotComesFromTheClient) {
  serves = false;
  begin(2);

  see_to([&] { return work(), all_have_their_tasks(); });

  EXPECT_EQ(sent_by_client(), 2u);
}

TEST_F(PeerTransfersTest, WhatASourceDoesNotGiveComesFromTheClient) {
  begin(1);
  see_to([&] { return work(), all_have_their_tasks(); });
  begin(1);
  see_to([&] { return served_by(*workers[0]) == 1; });
  workers[0]->say(protocol::Serve{object, workers[0]->all<protocol::Serve>().front().to});
  see_to([&] { return workers[1]->count<protocol::Object>() == 1; });
  ASSERT_FALSE(workers[1]->all<protocol::Object>().front().source.empty());

  workers[1]->say(protocol::NotFetched{object});

  see_to([&] { return workers[1]->count<protocol::Object>() == 2; });
  EXPECT_TRUE(workers[1]->all<protocol::Object>().back().source.empty());
  workers[1]->say(protocol::Have{object});
  see_to([&] { return all_have_their_tasks(); });
}

TEST_F(PeerTransfersTest, AWorkerThatIsCutOffHoldsNobodyUp) {
  begin(2);
  see_to([&] { return workers[0]->count<protocol::Object>() + workers[1]->count<protocol::Object>() == 1; });
  const std::size_t first = workers[0]->count<protocol::Object>() == 1 ? 0 : 1;

  workers[first]->cut();

  see_to([&] { return workers[1 - first]->count<protocol::Object>() == 1; });
  EXPECT_TRUE(workers[1 - first]->all<protocol::Object>().front().source.empty());
}

}  // namespace
}  // namespace pounce::client
