// The client and pounced: hello, open_session, demand, and what happens when pounced goes.
#include "unit/client/world.h"

namespace pounce::client {

class SessionTest : public EngineTest {};

TEST_F(SessionTest, SaysHelloAtTheHandshakeAndOpensItsSessionInTheControl) {
  open_session();
  const auto hello = handshake->all<protocol::Hello>().front();
  EXPECT_EQ(hello.session, session.hex());
  EXPECT_EQ(hello.proof, protocol::Proof::kPeer);
  EXPECT_EQ(handshake->heard.front().payload, std::vector<std::string>{""})
      << "the frame for a proof is there, and empty";
  EXPECT_EQ(control->all<protocol::OpenSession>().front().session, session);
}

TEST_F(SessionTest, TellsItsDemandOnceTheSessionIsOpen) {
  submit();
  open_session();
  settle([&] { return control->count<protocol::Demand>() > 0; });
  EXPECT_EQ(control->all<protocol::Demand>().front().requests.at(0).waiting, 1u);
}

TEST_F(SessionTest, ARefusalAtTheHandshakeFailsWhatWaitsWithItsReason) {
  const TaskId task = submit();
  ASSERT_TRUE(engine->set_daemon(endpoint()));
  settle([&] { return handshake->count<protocol::Hello>() > 0; });
  handshake->say(protocol::Refused{{ErrorCode::kVersionMismatch, "Another version.", {}, {}}});
  EXPECT_EQ(end_of(task).error.code, ErrorCode::kVersionMismatch);
}

TEST_F(SessionTest, AnEndpointWithoutALocalHandshakeIsAnError) {
  protocol::EndpointFile file = endpoint();
  file.handshake = {"tcp://10.0.0.1:4242"};
  const auto result = engine->set_daemon(file);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kDaemonUnavailable);
}

TEST_F(SessionTest, ADaemonThatHasGoneIsAskedForOnceWhenThereIsWork) {
  open_session();
  submit();
  settle([&] { return control->count<protocol::Demand>() > 0; });
  handshake.reset();
  control.reset();
  settle([&] { return count_told<DaemonNeeded>() > 0; });
  for (int i = 0; i < 20; ++i) turn();
  EXPECT_EQ(count_told<DaemonNeeded>(), 1u);
}

TEST_F(SessionTest, ADaemonThatHasGoneIsNotAskedForWhileThereIsNothingToDo) {
  open_session();
  handshake.reset();
  control.reset();
  settle([&] { return engine->closed_for_good(TimePoint::max()); });
  EXPECT_EQ(count_told<DaemonNeeded>(), 0u);
  submit();
  settle([&] { return count_told<DaemonNeeded>() > 0; });
}

TEST_F(SessionTest, ANewDaemonHearsTheSameSessionAndWhatIsHeld) {
  open_session();
  const TaskId task = submit();
  Peer& worker = add_worker(1);
  settle([&] { return worker.count<protocol::Task>() > 0; });
  handshake.reset();
  control.reset();
  settle([&] { return count_told<DaemonNeeded>() > 0; });
  start_daemon();
  open_session();
  settle([&] { return control->count<protocol::Demand>() > 0; });
  EXPECT_EQ(control->all<protocol::OpenSession>().front().session, session);
  EXPECT_EQ(control->all<protocol::Demand>().front().requests.at(0).holds.at(0), lease_id(1));
  finish(worker, task);
  EXPECT_TRUE(end_of(task).ok);
}

TEST_F(SessionTest, TheTaskGoesOnWhileTheDaemonIsAway) {
  open_session();
  const TaskId task = submit();
  Peer& worker = add_worker(1);
  settle([&] { return worker.count<protocol::Task>() > 0; });
  handshake.reset();
  control.reset();
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
  settle([&] { return control->count<protocol::Demand>() > 0; });
  engine->close();
  EXPECT_EQ(end_of(task).error.code, ErrorCode::kClosed);
  settle([&] { return control->count<protocol::CloseSession>() > 0; });
}

TEST_F(SessionTest, TheQueueIsAskedAndItsAnswerPassedOn) {
  open_session();
  settle([&] { return engine->ask(protocol::QueueAsk{7}, 0) != 0; });
  settle([&] { return control->count<protocol::QueueAsk>() > 0; });
  protocol::QueueIs answer;
  answer.question = 7;
  answer.rows.emplace_back().job = 42;
  control->say(answer);
  settle([&] { return count_told<QueueShown>() > 0; });
}

TEST_F(SessionTest, AQuestionIsAskedOncePerConnection) {
  open_session();
  std::uint32_t first = 0;
  settle([&] {
    return (first = engine->ask(protocol::QueueAsk{7}, first)) != 0 && control->count<protocol::QueueAsk>() > 0;
  });
  EXPECT_EQ(control->count<protocol::QueueAsk>(), 1u);
  handshake.reset();
  control.reset();
  settle([&] { return engine->ask(protocol::QueueAsk{7}, first) == 0 && count_told<DaemonNeeded>() > 0; });
  start_daemon();
  open_session();
  std::uint32_t now = 0;
  settle(
      [&] { return (now = engine->ask(protocol::QueueAsk{7}, now)) != 0 && control->count<protocol::QueueAsk>() > 0; });
  EXPECT_EQ(control->count<protocol::QueueAsk>(), 1u);
  EXPECT_NE(now, first);
}

TEST_F(SessionTest, ANoticeAndAStatusArePassedOn) {
  open_session();
  const TaskId task = submit();
  protocol::LeaseStatus status;
  status.request = RequestId{1};
  status.lease = lease_id(1);
  status.state = "queued";
  status.cause = {.code = CauseCode::kSlurmWaits, .word = "Resources"};
  settle([&] { return control->count<protocol::Demand>() > 0; });
  control->say(status);
  control->say(protocol::Notice{"no Slurm here"});
  settle([&] { return count_told<Told>() > 0; });
  EXPECT_EQ(engine->lease_status(task)->cause.word, "Resources");
}

}  // namespace pounce::client
