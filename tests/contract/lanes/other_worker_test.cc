// A worker that dies or stands still in the middle of something large, over every road: its client is told, or goes on, and has
// nothing half of it.
#include "contract/lanes/other_end.h"

namespace pounce::lanes {
namespace {

// Gives something large back for a task without an object, and looks whether another's object is as it was.
void play_worker(const Line& client, Road road) {
  RealWorker worker(road);
  client.tell(worker.endpoint());
  client.tell(worker.key());
  const SessionId session = *SessionId::from_hex(client.hear());
  worker.admit(session, *transport::from_z85(client.hear()));
  client.tell("admitted");
  const auto source = Source::marked(kOnItsWay, 1);
  const auto run = [&](const worker::Job& job) {
    POUNCE_CHECK(job.objects.empty() || source->is(job.objects.front().buffers.front().bytes), "it is as it was");
    return returned(job.objects.empty() ? source : nullptr);
  };
  while (true) worker.turn(run, 1ms);
}

class OtherWorkerTest : protected OtherEnd, public client::EngineTest, public testing::WithParamInterface<Road> {
 protected:
  OtherWorkerTest() : OtherEnd([](const Line& client) { play_worker(client, GetParam()); }) {}
  void SetUp() override {
    EngineTest::SetUp();
    open_session();
    descriptors = open_descriptors().size();
  }
  void turn_here() override { EngineTest::turn(); }
  TaskId submit_object() {
    const auto id = random_id<ObjectId>();
    engine->hold_object(id, {client::own_buffer(""), {{source->bytes(), source}}}, false);
    return submit({id});
  }
  void grant() {
    const std::string endpoint = line().hear(), worker_key = line().hear();
    line().tell(session.hex());
    line().tell(transport::to_z85(key));
    ASSERT_EQ(line().hear(), "admitted");
    control->say(protocol::Granted{RequestId{1}, lease_id(1), WorkerIndex{0}, Epoch{1}, endpoint, worker_key});
  }
  void die() {
    kill();
    control->say(protocol::LeaseEnded{RequestId{1}, lease_id(1), {ErrorCode::kWorkerCrashed, "killed", {}, {}}});
  }
  const client::Ended& end_of(const TaskId& task, int asked_in_line = __builtin_LINE()) {
    until([&] { return ended(task) != nullptr; }, asked_in_line);
    static const client::Ended never;
    return ended(task) != nullptr ? *ended(task) : never;
  }

  std::size_t descriptors = 0;
};
INSTANTIATE_TEST_SUITE_P(Roads, OtherWorkerTest, testing::Values(Road::kMemory, Road::kTls, Road::kZeroMq), road_name);

TEST_P(OtherWorkerTest, ThatIsKilledInTheMiddleOfAnObjectEndsItsTask) {
  const TaskId task = submit_object();
  grant();
  stop_in_the_middle();

  die();

  EXPECT_EQ(end_of(task).error.code, ErrorCode::kWorkerCrashed) << end_of(task).error.text;
  expect_nothing_left(descriptors);
}

TEST_P(OtherWorkerTest, ThatIsKilledInTheMiddleOfAResultEndsItsTask) {
  const TaskId task = submit();
  grant();
  stop_in_the_middle();

  die();

  EXPECT_EQ(end_of(task).error.code, ErrorCode::kWorkerCrashed) << end_of(task).error.text;
  EXPECT_TRUE(end_of(task).buffers.empty());
  expect_nothing_left(descriptors);
}

TEST_P(OtherWorkerTest, ThatStandsStillInTheMiddleOfAnObjectHasItWholeLater) {
  const TaskId task = submit_object();
  grant();
  stop_in_the_middle();
  go_on_alone();
  ASSERT_EQ(ended(task), nullptr);

  go_on();

  EXPECT_TRUE(end_of(task).ok) << end_of(task).error.text;
}

TEST_P(OtherWorkerTest, ThatStandsStillInTheMiddleOfAResultGivesItWholeLater) {
  const TaskId task = submit();
  grant();
  stop_in_the_middle();
  go_on_alone();
  ASSERT_EQ(ended(task), nullptr);

  go_on();

  ASSERT_TRUE(end_of(task).ok) << end_of(task).error.text;
  ASSERT_EQ(end_of(task).buffers.size(), 1u);
  EXPECT_TRUE(source->is(end_of(task).buffers.front().bytes));
}

}  // namespace
}  // namespace pounce::lanes
