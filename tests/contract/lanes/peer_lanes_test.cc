// One object for several real workers over the bulk lane: from the client to few of them, and from those to the others.
// Without OpenSSL there is none, and the client sends it to each.
#include <algorithm>
#include <bit>

#include "contract/lanes/world.h"

namespace pounce::lanes {
namespace {

constexpr std::size_t kLarge = 32 * kMiB + 3;

class PeerLanesTest : public client::EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    open_session();
    object = random_id<ObjectId>();
    engine->hold_object(object, {own_bytes(""), {{source->bytes(), source}}}, false);
  }
  void TearDown() override {
    EngineTest::TearDown();
    real.clear();
  }

  void begin(std::size_t count) {
    ask(count);
    for (std::size_t i = 0; i < count; ++i) grant(i);
  }
  void ask(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      tasks.push_back(submit({object}));
      real.push_back(std::make_unique<RealWorker>(Road::kTls));
      real.back()->admit(session, key);
    }
    settle([&] { return control->count<protocol::Demand>() > 0; });
  }
  void grant(std::size_t i) {
    control->say(protocol::Granted{RequestId{1}, lease_id(static_cast<int>(i) + 1), WorkerIndex{0}, Epoch{1},
                                   real[i]->endpoint(), real[i]->key()});
  }
  void until(const std::function<bool()>& condition, int line = __builtin_LINE()) {
    const TimePoint deadline = Clock::now() + 100s;
    while (!condition()) {
      ASSERT_LT(Clock::now(), deadline) << "asked in line " << line << ": it does not come true";
      turn();
      for (auto& one : real)
        if (one && one.get() == runs_nothing)
          one->turn();
        else if (one)
          one->turn([this](const worker::Job& job) { return looked_at(job); });
    }
  }
  worker::JobResult looked_at(const worker::Job& job) {
    right += source->is(job.objects.front().buffers.front().bytes);
    worker::JobResult result;
    result.ok = true;
    result.pickle = own_bytes("pickle");
    return result;
  }
  std::size_t all_ended() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(tasks, [this](const TaskId& task) { return ended(task) != nullptr; }));
  }
  // Over the connections that stand when all is over: those between client and workers. Those between workers have
  // ended.
  enum class Over : std::uint8_t { kLanes, kDataConnections };
  std::uint64_t sent_by_client(Over road) const {
    std::uint64_t bytes = 0;
    for (const Connection& one : connections()) {
      const bool calls = std::ranges::any_of(
          real, [&](const auto& each) { return each && (one.from == each->port() || one.to == each->port()); });
      tcp_info info{};
      socklen_t size = sizeof info;
      if (!one.local && calls == (road == Over::kDataConnections) &&
          ::getsockopt(one.fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
        bytes += info.tcpi_bytes_received;
    }
    return bytes;
  }

  std::shared_ptr<const Source> source = Source::marked(kLarge, 3);
  ObjectId object;
  std::vector<TaskId> tasks;
  std::vector<std::unique_ptr<RealWorker>> real;
  RealWorker* runs_nothing = nullptr;
  std::size_t right = 0;
};

class ManyReaders : public PeerLanesTest, public testing::WithParamInterface<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(, ManyReaders, testing::Values(1, 4, 8));

TEST_P(ManyReaders, AllGetItAsItWasAndTheClientSendsItLog2OfTheirNumberAndOneTimesAtMost) {
  begin(GetParam());

  until([&] { return all_ended() == GetParam(); });

  EXPECT_EQ(right, GetParam());
  const auto most_times = static_cast<std::size_t>(std::bit_width(GetParam()));
  EXPECT_GE(sent_by_client(Over::kLanes), bulk::Lane::available() ? kLarge : 0);
  EXPECT_LT(sent_by_client(Over::kLanes), bulk::Lane::available() ? most_times * (kLarge + kMiB) : 1);
  EXPECT_GE(sent_by_client(Over::kDataConnections),
            bulk::Lane::available() ? 0 : GetParam() * kLarge);  // else to each of them
}

// One call's result is the object of others, on its own worker and on another.
class PassedOn : public PeerLanesTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    open_session();
  }
  // Its worker, and another one for what asks for something else.
  client::KeptResult result_of_first_worker() {
    made = submit();
    EXPECT_TRUE(engine->keep_result(made));
    for (int i = 0; i < 2; ++i) {
      real.push_back(std::make_unique<RealWorker>(Road::kTls));
      real.back()->admit(session, key);
    }
    settle([&] { return control->count<protocol::Demand>() > 0; });
    grant(0);
    until_made([&] { return ended(made) != nullptr; });
    return engine->take_kept(made).value_or(client::KeptResult{});
  }
  void take_on_second_worker(const ObjectId& result) {
    client::Call call;
    call.task = tasks.emplace_back(random_id<TaskId>());
    call.resources.gpus = 1;
    call.function_pickle = own_bytes("function");
    call.function = FunctionId(identity::content_digest(call.function_pickle.bytes));
    call.payload = {own_bytes("arguments")};
    call.objects = {result};
    engine->submit(call);
    RequestId request;
    settle([&] {
      for (const protocol::Demand& demand : control->all<protocol::Demand>())
        for (const Request& one : demand.requests)
          if (one.resources.gpus == 1) request = one.id;
      return request != RequestId{};
    });
    const RealWorker& second = *real[1];
    control->say(protocol::Granted{request, lease_id(2), WorkerIndex{0}, Epoch{1}, second.endpoint(), second.key()});
  }
  void until_made(const std::function<bool()>& condition, int line = __builtin_LINE()) {
    const TimePoint deadline = Clock::now() + 100s;
    while (!condition()) {
      ASSERT_LT(Clock::now(), deadline) << "asked in line " << line << ": it does not come true";
      turn();
      for (auto& one : real)
        if (one)
          one->turn([this](const worker::Job& job) { return job.objects.empty() ? returned(source) : looked_at(job); });
    }
  }

  TaskId made;
};

TEST_F(PassedOn, IsNotSentByTheClientWhereverItIsNeeded) {
  const auto result = result_of_first_worker();
  ASSERT_EQ(result.bytes, kLarge + 6);
  tasks.push_back(submit({result.id}));
  take_on_second_worker(result.id);

  until_made([&] { return all_ended() == 2; });

  EXPECT_EQ(right, 2u);
  if (bulk::Lane::available()) {
    EXPECT_LT(sent_by_client(Over::kLanes), kLarge + kMiB) << "what the first worker sent, once";
  }
}

TEST_F(PassedOn, ComesFromTheClientWhereItsWorkerIsGone) {
  const auto result = result_of_first_worker();
  real.front().reset();
  take_on_second_worker(result.id);

  until_made([&] { return all_ended() == 1; });

  EXPECT_TRUE(ended(tasks.front())->ok);
  EXPECT_EQ(right, 1u);
}

// It is lost in the middle, by whichever it is sent to and by whom.
TEST_F(PeerLanesTest, EveryConnectionThatIsCutCostsNobodyTheObject) {
  begin(4);
  until([&] { return all_ended() >= 1; });

  cut_connections();

  until([&] { return all_ended() == 4; });
  EXPECT_EQ(right, 4u);
}

TEST_F(PeerLanesTest, AWorkerThatEndsWhileItServesCostsItsReaderNothing) {
  ask(2);
  runs_nothing = real.front().get();
  grant(0);
  until([&] { return object_memory() >= kLarge; });  // whole, so that it is the other's source
  grant(1);
  until([&] { return object_memory() > kLarge + 4 * kMiB; });

  real.front().reset();

  until([&] { return ended(tasks.back()) != nullptr; });
  EXPECT_EQ(right, 1u);
}

}  // namespace
}  // namespace pounce::lanes
