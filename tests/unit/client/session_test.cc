// The client and pounced: hello, open_session, demand, and what happens when pounced goes.
#include "unit/client/world.h"

namespace pounce::client {

class SessionTest : public EngineTest {};

TEST_F(SessionTest, SaysHelloAtTheDoorAndOpensItsSessionInTheHall) {
  open_session();
  const auto hello = door->all<protocol::Hello>().front();
  EXPECT_EQ(hello.session, session.hex());
  EXPECT_EQ(hello.proof, protocol::Proof::kPeer);
  EXPECT_EQ(door->heard.front().payload, std::vector<std::string>{""}) << "the frame for a proof is there, and empty";
  EXPECT_EQ(hall->all<protocol::OpenSession>().front().session, session);
}

TEST_F(SessionTest, TellsItsDemandOnceTheSessionIsOpen) {
  submit();
  open_session();
  settle([&] { return hall->count<protocol::Demand>() > 0; });
  EXPECT_EQ(hall->all<protocol::Demand>().front().wants.at(0).waiting, 1u);
}

TEST_F(SessionTest, ARefusalAtTheDoorFailsWhatWaitsWithItsReason) {
  const TaskId task = submit();
  ASSERT_TRUE(engine->set_daemon(endpoint()));
  settle([&] { return door->count<protocol::Hello>() > 0; });
  door->say(protocol::Refused{{ErrorCode::kVersionMismatch, "Another version.", {}, {}}});
  EXPECT_EQ(end_of(task).error.code, ErrorCode::kVersionMismatch);
}

TEST_F(SessionTest, AnEndpointWithoutALocalDoorIsAnError) {
  protocol::EndpointFile file = endpoint();
  file.door = {"tcp://10.0.0.1:4242"};
  const auto result = engine->set_daemon(file);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kDaemonUnavailable);
}

TEST_F(SessionTest, ADaemonThatHasGoneIsAskedForOnceWhenThereIsWork) {
  open_session();
  submit();
  settle([&] { return hall->count<protocol::Demand>() > 0; });
  door.reset();
  hall.reset();
  settle([&] { return count_told<DaemonWanted>() > 0; });
  for (int i = 0; i < 20; ++i) turn();
  EXPECT_EQ(count_told<DaemonWanted>(), 1u);
}

TEST_F(SessionTest, ADaemonThatHasGoneIsNotAskedForWhileThereIsNothingToDo) {
  open_session();
  door.reset();
  hall.reset();
  settle([&] { return engine->closed_for_good(TimePoint::max()); });
  EXPECT_EQ(count_told<DaemonWanted>(), 0u);
  submit();
  settle([&] { return count_told<DaemonWanted>() > 0; });
}

TEST_F(SessionTest, ANewDaemonHearsTheSameSessionAndWhatIsHeld) {
  open_session();
  const TaskId task = submit();
  Peer& worker = add_worker(1);
  settle([&] { return worker.count<protocol::Task>() > 0; });
  door.reset();
  hall.reset();
  settle([&] { return count_told<DaemonWanted>() > 0; });
  start_daemon();
  open_session();
  settle([&] { return hall->count<protocol::Demand>() > 0; });
  EXPECT_EQ(hall->all<protocol::OpenSession>().front().session, session);
  EXPECT_EQ(hall->all<protocol::Demand>().front().wants.at(0).holds.at(0), lease_id(1));
  finish(worker, task);
  EXPECT_TRUE(end_of(task).ok);
}

TEST_F(SessionTest, TheTaskGoesOnWhileTheDaemonIsAway) {
  open_session();
  const TaskId task = submit();
  Peer& worker = add_worker(1);
  settle([&] { return worker.count<protocol::Task>() > 0; });
  door.reset();
  hall.reset();
  finish(worker, task);
  EXPECT_EQ(text_of(end_of(task).pickle), "result");
}

TEST_F(SessionTest, ADaemonThatCannotBeHadFailsWhatWaits) {
  const TaskId task = submit();
  engine->daemon_failed({ErrorCode::kSlurmConfig, "slurm.conf is broken.", {}, {}});
  EXPECT_EQ(end_of(task).error.code, ErrorCode::kSlurmConfig);
}

TEST_F(SessionTest, ClosingEndsTasksAndSaysSo) {
  open_session();
  const TaskId task = submit();
  engine->close();
  EXPECT_EQ(end_of(task).error.code, ErrorCode::kClosed);
  settle([&] { return hall->count<protocol::CloseSession>() > 0; });
}

TEST_F(SessionTest, TheQueueIsAskedAndItsAnswerPassedOn) {
  open_session();
  settle([&] { return engine->ask(protocol::QueueAsk{7}, 0) != 0; });
  settle([&] { return hall->count<protocol::QueueAsk>() > 0; });
  protocol::QueueIs answer;
  answer.request = 7;
  answer.rows.emplace_back().job = 42;
  hall->say(answer);
  settle([&] { return count_told<QueueShown>() > 0; });
}

TEST_F(SessionTest, AQuestionIsAskedOncePerConnection) {
  open_session();
  const std::uint32_t first = engine->ask(protocol::QueueAsk{7}, 0);
  engine->ask(protocol::QueueAsk{7}, first);
  settle([&] { return hall->count<protocol::QueueAsk>() > 0; });
  door.reset();
  hall.reset();
  settle([&] { return engine->ask(protocol::QueueAsk{7}, first) == 0 && count_told<DaemonWanted>() > 0; });
  start_daemon();
  open_session();
  std::uint32_t now = 0;
  settle([&] { return (now = engine->ask(protocol::QueueAsk{7}, now)) != 0 && hall->count<protocol::QueueAsk>() > 0; });
  EXPECT_EQ(hall->count<protocol::QueueAsk>(), 1);
  EXPECT_NE(now, first);
}

TEST_F(SessionTest, ANoticeAndAStatusArePassedOn) {
  open_session();
  const TaskId task = submit();
  protocol::LeaseStatus status;
  status.want = WantId{1};
  status.lease = lease_id(1);
  status.state = "queued";
  status.reason = "waiting for a GPU";
  settle([&] { return hall->count<protocol::Demand>() > 0; });
  hall->say(status);
  hall->say(protocol::Notice{"no Slurm here"});
  settle([&] { return count_told<Told>() > 0; });
  EXPECT_EQ(engine->lease_status(task)->reason, "waiting for a GPU");
}

}  // namespace pounce::client
