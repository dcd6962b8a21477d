// A client that dies or stands still in the middle of something large, over every road: its worker goes on with it or
// has nothing half of it, once the daemon has given it up.
#include "contract/lanes/other_end.h"

namespace pounce::lanes {
namespace {

// Asks for what it is told to: a task with a large object, or one with a large result.
class PlayedClient : client::EngineTest {
 public:
  void play(const Line& worker) {
    SetUp();
    open_session();
    worker.tell(session.hex());
    worker.tell(transport::to_z85(key));
    const bool sends = worker.hear() == "object";
    const std::string endpoint = worker.hear(), worker_key = worker.hear();
    const auto source = Source::marked(kOnItsWay, 1);
    const auto object = random_id<ObjectId>();
    if (sends) engine->hold_object(object, {own_bytes(""), {{source->bytes(), source}}}, false);
    const TaskId task = sends ? submit({object}) : submit();
    control->say(protocol::Granted{RequestId{1}, lease_id(1), WorkerIndex{0}, Epoch{1}, endpoint, worker_key});
    while (ended(task) == nullptr) turn();
    const client::Ended& end = *ended(task);
    worker.tell(end.ok && (sends || source->is(end.buffers.front().bytes)) ? "as it was" : "wrong: " + end.error.text);
    while (true) turn();
  }

 private:
  void TestBody() override {}
};

class OtherClientTest : protected OtherEnd, public testing::TestWithParam<Road> {
 protected:
  OtherClientTest() : OtherEnd([](const Line& worker) { PlayedClient().play(worker); }) {}
  void SetUp() override {
    worker = std::make_unique<RealWorker>(GetParam());
    session = *SessionId::from_hex(line().hear());
    worker->admit(session, *transport::from_z85(line().hear()));
    descriptors = open_descriptors().size() +
                  (is_lane(GetParam()) ? 2 : 0);  // where lanes come in: it listens from the first one on
  }
  void begin(const std::string& what) {
    line().tell(what);
    line().tell(worker->endpoint());
    line().tell(worker->key());
  }
  void turn_here() override {
    worker->turn(
        [this](const worker::Job& job) {
          ++runs;
          right = job.objects.empty() || source->is(job.objects.front().buffers.front().bytes);
          return returned(job.objects.empty() ? source : nullptr);
        },
        1ms);
  }
  void die() {
    kill();
    worker->dismiss(session);
  }

  std::unique_ptr<RealWorker> worker;
  SessionId session;
  std::size_t descriptors = 0, runs = 0;
  bool right = false;
};
INSTANTIATE_TEST_SUITE_P(Roads, OtherClientTest, testing::Values(Road::kMemory, Road::kTls, Road::kZeroMq), road_name);

TEST_P(OtherClientTest, ThatIsKilledInTheMiddleOfAnObjectLeavesNothingHalf) {
  begin("object");
  stop_in_the_middle();

  die();

  expect_nothing_left(descriptors);
  EXPECT_EQ(runs, 0u);
}

TEST_P(OtherClientTest, ThatIsKilledInTheMiddleOfAResultLeavesNothingOfIt) {
  begin("result");
  stop_in_the_middle();

  die();

  expect_nothing_left(descriptors);
  until([&] { return source.use_count() == 1; });
  EXPECT_EQ(runs, 1u);
}

TEST_P(OtherClientTest, ThatStandsStillInTheMiddleOfAnObjectGivesItWholeLater) {
  begin("object");
  stop_in_the_middle();
  go_on_alone();
  ASSERT_EQ(runs, 0u);

  go_on();

  until([&] { return runs == 1; });
  EXPECT_TRUE(right);
}

TEST_P(OtherClientTest, ThatStandsStillInTheMiddleOfAResultHasItWholeLater) {
  begin("result");
  stop_in_the_middle();
  go_on_alone();
  ASSERT_FALSE(line().has_spoken());

  go_on();

  until([&] { return line().has_spoken(); });
  EXPECT_EQ(line().hear(), "as it was");
  EXPECT_EQ(runs, 1u);
}

}  // namespace
}  // namespace pounce::lanes
