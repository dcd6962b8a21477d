// The client and a worker: attach, functions and objects sent once, results in place, output, and broken connections.
#include "unit/client/world.h"

namespace pounce::client {

class WorkerTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    open_session();
  }
  // A task that has reached a fresh worker.
  std::pair<TaskId, Peer*> running_task() {
    const TaskId task = submit();
    Peer& worker = add_worker(1);
    settle([&] { return worker.count<protocol::Task>() > 0; });
    return {task, &worker};
  }
  void never_came(Peer& worker, const TaskId& task) {
    settle([&] { return worker.count<protocol::Query>() > 0; });
    worker.say(protocol::QueryIs{{task}, {RemoteTaskState::kUnknown}});
  }
  static Object object(std::size_t pickle_size, std::vector<std::size_t> buffer_sizes) {
    Object made{own_bytes(std::string(pickle_size, 'p')), {}};
    for (const std::size_t size : buffer_sizes) made.buffers.push_back(own_bytes(std::string(size, 'b')));
    return made;
  }
  ObjectId hold(Object made, bool send_now = false) {
    const ObjectId id = digest_object(made.pickle, made.buffers);
    engine->hold_object(id, std::move(made), send_now);
    return id;
  }
};

TEST_F(WorkerTest, ATaskComesWithItsFunctionAndItsOutcomeEndsIt) {
  const auto [task, worker] = running_task();
  EXPECT_EQ(worker->payload_of_last<protocol::Function>(), "function");
  EXPECT_EQ(worker->payload_of_last<protocol::Task>(), "arguments");
  finish(*worker, task, "42");
  EXPECT_TRUE(end_of(task).ok);
  EXPECT_EQ(text_of(end_of(task).pickle), "42");
}

TEST_F(WorkerTest, AFunctionIsSentOncePerWorker) {
  const auto [first, worker] = running_task();
  finish(*worker, first);
  end_of(first);
  submit();
  settle([&, w = worker] { return w->count<protocol::Task>() == 2; });
  EXPECT_EQ(worker->count<protocol::Function>(), 1u);
}

TEST_F(WorkerTest, TheWorkerIsToldToDropFunctionsOverTheBudgetAndGetsThemAgainWhenTheyAreNeeded) {
  const auto [small, found] = running_task();
  Peer& worker = *found;
  finish(worker, small);
  end_of(small);
  const auto call_and_end = [&](char which) {
    const TaskId task = submit({}, 0, std::string(FunctionsAtWorker::kBudgetBytes / 2 + 1, which));
    settle([&] { return worker.all<protocol::Task>().back().task == task; });
    finish(worker, task);
    end_of(task);
  };
  call_and_end('a');
  call_and_end('b');
  settle([&] { return worker.count<protocol::Drop>() == 1; });
  const auto sent = worker.all<protocol::Function>();
  EXPECT_EQ(worker.all<protocol::Drop>().front().functions, (std::vector{sent.at(0).function, sent.at(1).function}));
  call_and_end('b');
  EXPECT_EQ(worker.count<protocol::Function>(), 3u) << "it is still there";
  call_and_end('a');
  EXPECT_EQ(worker.all<protocol::Function>().back().function, sent.at(1).function);
}

TEST_F(WorkerTest, AnOutcomeIsAcknowledgedSoon) {
  const auto [first, worker] = running_task();
  finish(*worker, first);
  end_of(first);
  settle([&, w = worker] { return w->count<protocol::Ack>() > 0; });
  EXPECT_EQ(worker->all<protocol::Ack>().front().tasks, std::vector<TaskId>{first});
}

TEST_F(WorkerTest, ObjectsGoInChunksBeforeTheirTaskAndOnlyOnce) {
  const ObjectId id = hold(object(10, {3 * protocol::kChunkBytes / 2, 0, 5}));
  const TaskId first = submit({id});
  Peer& worker = add_worker(1);
  settle([&] { return worker.count<protocol::Task>() == 1; });
  std::size_t bytes = 0;
  for (const auto& item : worker.heard) {
    if (std::holds_alternative<protocol::Task>(item.header)) break;  // all of it is there before its task
    if (std::holds_alternative<protocol::Chunk>(item.header)) bytes += item.payload.at(0).size();
  }
  EXPECT_EQ(bytes, 3 * protocol::kChunkBytes / 2 + 5);
  worker.say(protocol::Have{id});
  finish(worker, first);
  end_of(first);
  submit({id});
  settle([&] { return worker.count<protocol::Task>() == 2; });
  EXPECT_EQ(worker.count<protocol::Object>(), 1u);
}

TEST_F(WorkerTest, ALargePickleTravelsAsTheFirstBuffer) {
  const ObjectId id = hold(object(protocol::kInlineBytes + 1, {5}));
  submit({id});
  Peer& worker = add_worker(1);
  settle([&] { return worker.count<protocol::Task>() == 1; });
  const auto header = worker.all<protocol::Object>().front();
  EXPECT_TRUE(header.pickle_follows);
  EXPECT_EQ(header.buffers, (std::vector<std::uint64_t>{protocol::kInlineBytes + 1, 5}));
}

TEST_F(WorkerTest, AScatteredObjectGoesToLiveWorkersBeforeAnyTaskNeedsIt) {
  const auto [task, worker] = running_task();
  const ObjectId id = hold(object(10, {100}), /*send_now=*/true);
  settle([&, w = worker] { return w->count<protocol::Chunk>() > 0; });
  EXPECT_EQ(worker->all<protocol::Object>().front().object, id);
  finish(*worker, task);
  end_of(task);
}

TEST_F(WorkerTest, ALargeResultIsReceivedInPlace) {
  const auto [task, worker] = running_task();
  const std::string large(protocol::kChunkBytes + 100, 'x');
  protocol::Outcome outcome;
  outcome.task = task;
  outcome.ok = true;
  outcome.buffers = {large.size()};
  worker->say(outcome, {"pickle", "small"});
  worker->say(protocol::Chunk{task.hex(), 0, 0}, {large.substr(0, protocol::kChunkBytes)});
  worker->say(protocol::Chunk{task.hex(), 0, protocol::kChunkBytes}, {large.substr(protocol::kChunkBytes)});
  const Ended& end = end_of(task);
  ASSERT_EQ(end.buffers.size(), 2u);
  EXPECT_EQ(text_of(end.buffers[0]), "small");
  EXPECT_EQ(text_of(end.buffers[1]), large);
}

TEST_F(WorkerTest, AnAbsurdlyLargeResultIsAnErrorOfThatTaskOnly) {
  const auto [task, worker] = running_task();
  protocol::Outcome outcome;
  outcome.task = task;
  outcome.ok = true;
  outcome.buffers = {1ull << 62};
  worker->say(outcome, {"pickle"});
  EXPECT_EQ(end_of(task).error.code, ErrorCode::kTooLarge);
}

TEST_F(WorkerTest, ChunksOutOfOrderAreIgnored) {
  const auto [task, worker] = running_task();
  protocol::Outcome outcome;
  outcome.task = task;
  outcome.ok = true;
  outcome.buffers = {4};
  worker->say(outcome, {"pickle"});
  worker->say(protocol::Chunk{task.hex(), 0, 2}, {"cd"});
  worker->say(protocol::Chunk{task.hex(), 0, 0}, {"abcde"});
  worker->say(protocol::Chunk{task.hex(), 0, 0}, {"ab"});
  worker->say(protocol::Chunk{task.hex(), 0, 2}, {"cd"});
  EXPECT_EQ(text_of(end_of(task).buffers.at(0)), "abcd");
}

TEST_F(WorkerTest, OutputComesBeforeTheEndThatFollowedIt) {
  const auto [task, worker] = running_task();
  worker->say(protocol::Output{task, "stdout"}, {"hello\n"});
  finish(*worker, task);
  end_of(task);
  std::vector<std::string> kinds;
  for (const Event& item : told) {
    if (const auto* printed = std::get_if<Printed>(&item)) kinds.push_back(printed->text);
    if (std::holds_alternative<Ended>(item)) kinds.push_back("end");
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"hello\n", "end"}));
}

TEST_F(WorkerTest, AMessageForThePageComesInItsPlaceAmongTheOutputWithItsBuffers) {
  const auto [task, worker] = running_task();
  worker->say(protocol::Output{task, "stdout"}, {"before\n"});
  worker->say(protocol::Output{task, "message"}, {R"({"type":"comm_msg"})", "one", "two"});
  finish(*worker, task);
  end_of(task);
  std::vector<Printed> output;
  for (const Event& item : told)
    if (const auto* printed = std::get_if<Printed>(&item)) output.push_back(*printed);
  ASSERT_EQ(output.size(), 2u);
  EXPECT_FALSE(output[0].message);
  EXPECT_TRUE(output[1].message);
  EXPECT_EQ(output[1].text, R"({"type":"comm_msg"})");
  EXPECT_EQ(output[1].buffers, (std::vector<std::string>{"one", "two"}));
}

TEST_F(WorkerTest, AFailureNamesNodeAndDevices) {
  const auto [task, worker] = running_task();
  protocol::Outcome outcome;
  outcome.task = task;
  outcome.error = Error{ErrorCode::kTaskRaised, "ValueError: no", {}, {}};
  worker->say(outcome, {"exception"});
  const Ended& end = end_of(task);
  EXPECT_TRUE(end.raised);
  EXPECT_EQ(end.error.context.at("node"), "g1");
  EXPECT_EQ(end.error.context.at("devices"), "gpu:a100:1");
}

TEST_F(WorkerTest, ARunningTaskIsCancelledAtItsWorker) {
  const auto [task, worker] = running_task();
  engine->cancel(task, std::chrono::seconds(5), false);
  settle([&, w = worker] { return w->count<protocol::CancelTask>() > 0; });
  EXPECT_EQ(worker->all<protocol::CancelTask>().front().task, task);
}

TEST_F(WorkerTest, ATaskThatShallOnlyBeCancelledIfItIsQueuedIsAskedAboutAtItsWorker) {
  const auto [task, worker] = running_task();
  engine->cancel(task, 0s, /*only_if_queued=*/true);
  settle([&, w = worker] { return w->count<protocol::CancelTask>() > 0; });
  EXPECT_TRUE(worker->all<protocol::CancelTask>().front().only_if_queued);
}

TEST_F(WorkerTest, AResultThatADeathHasOvertakenIsStillTheEnd) {
  const auto [task, worker] = running_task();
  control->say(protocol::WorkerDown{lease_id(1), WorkerIndex{0}, Epoch{1}, {ErrorCode::kWorkerCrashed, "", {}, {}}});
  turn();
  finish(*worker, task);
  EXPECT_TRUE(end_of(task).ok);
}

TEST_F(WorkerTest, ADeathEndsTheTaskOnceItsConnectionIsReadToTheEnd) {
  const auto [task, worker] = running_task();
  control->say(protocol::WorkerDown{lease_id(1), WorkerIndex{0}, Epoch{1}, {ErrorCode::kWorkerCrashed, "", {}, {}}});
  workers.clear();
  EXPECT_EQ(end_of(task).error.code, ErrorCode::kWorkerCrashed);
}

TEST_F(WorkerTest, AnEndOfALeaseEndsItsTaskWithThatReason) {
  const auto [task, worker] = running_task();
  control->say(protocol::LeaseEnded{RequestId{1}, lease_id(1), {ErrorCode::kJobCancelled, "scancel", {}, {}}});
  EXPECT_EQ(end_of(task).error.code, ErrorCode::kJobCancelled);
}

TEST_F(WorkerTest, WhatAWorkerShowsForATaskThatHasEndedIsAnsweredThere) {
  const auto [task, worker] = running_task();
  finish(*worker, task);
  end_of(task);
  worker->say(protocol::Output{task, "message"}, {R"({"type":"parting"})"});
  settle([&] { return count_told<Printed>() > 0; });
  engine->tell(task, {own_bytes("more")});
  settle([&, w = worker] { return w->count<protocol::Input>() > 0; });
  EXPECT_EQ(worker->payload_of_last<protocol::Input>(), "more");
}

TEST_F(WorkerTest, ALookGoesToTheLeasesWorkerWhateverRunsThereAndItsAnswerBelongsToNoTask) {
  const auto [task, worker] = running_task();
  EXPECT_TRUE(engine->look(lease_id(1), 7, own_bytes("what is model?")));
  settle([&, w = worker] { return w->count<protocol::Look>() > 0; });
  EXPECT_EQ(worker->all<protocol::Look>().front().question, 7u);
  EXPECT_EQ(worker->payload_of_last<protocol::Look>(), "what is model?");

  worker->say(protocol::Look{7}, {R"({"type":"pounce_look"})"});
  settle([&] { return count_told<Printed>() > 0; });
  EXPECT_FALSE(engine->look(lease_id(2), 8, own_bytes("of a lease that is not there")));
}

TEST_F(WorkerTest, AnEndedLeaseIsReadUntilItsWorkerHangsUp) {
  engine->read_to_the_end(60s);
  const auto [task, worker] = running_task();
  control->say(
      protocol::LeaseEnded{RequestId{1}, lease_id(1), {ErrorCode::kWalltimeReached, "its time is over", {}, {}}});
  settle([&] { return count_told<StatusChanged>() > 0; });
  const TimePoint later = Clock::now() + 500ms;  // than one is held back otherwise
  while (Clock::now() < later) turn();
  EXPECT_TRUE(engine->reads_on());
  worker->say(protocol::Output{task, "message"}, {R"({"type":"parting"})"});
  settle([&] { return count_told<Printed>() > 0; });
  EXPECT_EQ(ended(task), nullptr);
  workers.clear();
  EXPECT_EQ(end_of(task).error.code, ErrorCode::kWalltimeReached);
  EXPECT_FALSE(engine->reads_on());
}

TEST_F(WorkerTest, ALeaseThatIsReadToItsEndHoldsNoOtherUp) {
  engine->read_to_the_end(60s);
  const auto [task, worker] = running_task();
  control->say(
      protocol::LeaseEnded{RequestId{1}, lease_id(1), {ErrorCode::kWalltimeReached, "its time is over", {}, {}}});
  settle([&] { return engine->reads_on(); });
  const TaskId other = submit();
  add_worker(2);
  settle([&, w = workers.back().get()] { return w->count<protocol::Task>() > 0; });
  control->say(protocol::WorkerDown{lease_id(2), WorkerIndex{0}, Epoch{1}, {ErrorCode::kWorkerCrashed, "", {}, {}}});
  EXPECT_EQ(end_of(other).error.code, ErrorCode::kWorkerCrashed);
  EXPECT_EQ(ended(task), nullptr);
}

TEST_F(WorkerTest, ARefusedKeyIsTriedAgainUntilTheWorkerKnowsIt) {
  const TaskId task = submit();
  auto& worker = workers.emplace_back(std::make_unique<Peer>(servers, "data", worker_keys, "tcp://127.0.0.1:*"));
  int refusals = 0;
  servers.admit("data", [&](const transport::ZapQuestion&) { return ++refusals > 2; });
  grant(1, *worker);
  settle([&] { return worker->count<protocol::Attach>() > 0; });
  worker->say(protocol::Attached{});
  settle([&] { return worker->count<protocol::Task>() > 0; });
  finish(*worker, task);
  EXPECT_TRUE(end_of(task).ok);
  servers.admit("data", [](const transport::ZapQuestion&) { return true; });
}

// What the worker was sent on a connection that it has given up is lost: the client waited for its answer for ever.
TEST_F(WorkerTest, AnAttachThatIsNotAnsweredIsSentAgainOnAnotherConnection) {
  auto& worker = workers.emplace_back(std::make_unique<Peer>(servers, "data", worker_keys, "tcp://127.0.0.1:*"));
  const KeyPair own = identity::make_key_pair();
  WorkerLink link(context, own, worker->endpoint(), worker_keys.public_key, {}, Clock::now());
  const auto settle_link = [&](const std::function<bool()>& condition) {
    settle([&] {
      link.pump(Clock::now(), true);
      return condition();
    });
  };
  settle_link([&] { return worker->count<protocol::Attach>() == 1; });
  const TimePoint later = link.next_deadline();
  ASSERT_LE(later, Clock::now() + 5s);

  const auto events = link.pump(later, false);

  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<LinkLost>(events.front()));
  settle_link([&] { return worker->count<protocol::Attach>() == 2; });
  worker->say(protocol::Attached{});
  settle_link([&] { return worker->count<protocol::Beat>() > 0; });
}

TEST_F(WorkerTest, AnObjectGoesOnWhereItsConnectionWasLost) {
  const ObjectId id = hold(object(10, {5 * protocol::kChunkBytes}));
  const TaskId task = submit({id});
  Peer& worker = add_worker(1);
  settle([&] { return worker.count<protocol::Chunk>() == 5; });
  reconnect(worker, {{id.hex(), 0, 3 * protocol::kChunkBytes + 7, false}});
  never_came(worker, task);
  settle([&] { return worker.count<protocol::Task>() == 1; });
  const auto chunks = worker.all<protocol::Chunk>();
  EXPECT_EQ(worker.count<protocol::Object>(), 0u) << "announced anew it would begin anew";
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks.front().offset, 3 * protocol::kChunkBytes + 7);
}

TEST_F(WorkerTest, AnObjectWhoseReceiptWasLostIsNotSentAgain) {
  const ObjectId id = hold(object(10, {protocol::kChunkBytes}));
  const TaskId task = submit({id});
  Peer& worker = add_worker(1);
  settle([&] { return worker.count<protocol::Chunk>() == 1; });
  reconnect(worker, {{id.hex(), 0, 0, true}});
  never_came(worker, task);
  settle([&] { return worker.count<protocol::Task>() == 1; });
  EXPECT_EQ(worker.count<protocol::Object>() + worker.count<protocol::Chunk>(), 0u);
}

TEST_F(WorkerTest, AnObjectInPartThatNobodyNeedsAnyMoreIsDropped) {
  const auto [task, found] = running_task();
  Peer& worker = *found;
  const ObjectId nobodys({9});
  reconnect(worker, {{nobodys.hex(), 0, 5, false}});
  settle([&] { return worker.count<protocol::Drop>() == 1; });
  EXPECT_EQ(worker.all<protocol::Drop>().front().objects, std::vector<ObjectId>{nobodys});
}

TEST_F(WorkerTest, AnObjectThatWasDroppedInPartIsAnnouncedAnew) {
  const auto [first, found] = running_task();
  Peer& worker = *found;
  Object made = object(10, {2 * protocol::kChunkBytes});
  const ObjectId id = digest_object(made.pickle, made.buffers);
  reconnect(worker, {{id.hex(), 0, 5, false}});
  settle([&] { return worker.count<protocol::Drop>() == 1; });
  engine->hold_object(id, std::move(made), /*send_now=*/true);
  settle([&] { return worker.count<protocol::Chunk>() == 2; });
  EXPECT_EQ(worker.count<protocol::Object>(), 1u);
  EXPECT_EQ(worker.all<protocol::Chunk>().front().offset, 0u);
  never_came(worker, first);
}

TEST_F(WorkerTest, AResultGoesOnWhereItsConnectionWasLost) {
  const auto [task, found] = running_task();
  Peer& worker = *found;
  const std::string chunk(protocol::kChunkBytes, 'r');
  protocol::Outcome outcome;
  outcome.task = task;
  outcome.ok = true;
  outcome.buffers = {3 * chunk.size()};
  worker.say(outcome, {"pickle"});
  worker.say(protocol::Chunk{task.hex(), 0, 0}, {chunk});
  worker.say(protocol::Output{task, "stdout"}, {"behind the chunk"});
  settle([&] { return count_told<Printed>() == 1; });
  reconnect(worker, {});
  settle([&] { return worker.count<protocol::Query>() == 1; });
  const auto reached = worker.all<protocol::Query>().front().reached;
  ASSERT_EQ(reached.size(), 1u);
  EXPECT_EQ(reached.front().offset, chunk.size());
  outcome.from = reached.front();
  worker.say(outcome, {"pickle"});
  for (const std::uint64_t at : {1, 2}) worker.say(protocol::Chunk{task.hex(), 0, at * chunk.size()}, {chunk});
  const Ended& ended = end_of(task);
  ASSERT_EQ(ended.buffers.size(), 1u);
  EXPECT_EQ(ended.buffers.front().bytes.size(), 3 * chunk.size());
  EXPECT_EQ(ended.buffers.front().bytes.back(), std::byte{'r'});
}

TEST_F(WorkerTest, AWorkerOfAnotherVersionEndsItsTasksWithThatReason) {
  const TaskId task = submit();
  auto& worker = workers.emplace_back(std::make_unique<Peer>(servers, "data", worker_keys, "tcp://127.0.0.1:*"));
  grant(1, *worker);
  settle([&] { return worker->count<protocol::Attach>() > 0; });
  worker->say(protocol::Refused{{ErrorCode::kVersionMismatch, "Python 3.9 there, 3.11 here.", {}, {}}});
  EXPECT_EQ(end_of(task).error.code, ErrorCode::kVersionMismatch);
}

// Found by hand: the worker was given up with it, and every later call waited for one that was there.
TEST_F(WorkerTest, AnObjectThatAWorkerRefusesCostsTheCallThatItWasSentForAndNoOther) {
  const ObjectId id = hold(object(10, {protocol::kChunkBytes}));
  const TaskId needs = submit({id});
  Peer& worker = add_worker(1);
  settle([&] { return worker.count<protocol::Object>() == 1; });

  worker.say(protocol::Refused{{ErrorCode::kOutOfMemory, "No memory.", {}, {}}, id});

  EXPECT_EQ(end_of(needs).error.code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(end_of(needs).error.object, id.hex()) << "by which a cell knows that its worker is as it was";
  EXPECT_EQ(end_of(needs).error.context.at("lease"), lease_id(1).hex());
  const TaskId next = submit();
  settle([&] { return worker.count<protocol::Task>() > 0 && worker.all<protocol::Task>().back().task == next; });
  finish(worker, next);
  end_of(next);
  submit({id});
  settle([&] { return worker.count<protocol::Object>() == 2; });
}

struct PackingTest : WorkerTest {
  void attach(bool several) {
    worker = workers.emplace_back(std::make_unique<Peer>(servers, "data", worker_keys, "tcp://127.0.0.1:*")).get();
    grant(1, *worker);
    settle([&] { return worker->count<protocol::Attach>() > 0; });
    protocol::Attached who;
    who.several = several;
    worker->say(who);
  }
  // Short tasks, until those that were sent ahead are as many as ever.
  void run_all(const std::vector<TaskId>& tasks) {
    std::size_t answered = 0;
    while (answered < tasks.size()) {
      settle([&] { return worker->count<protocol::Task>() > answered; });
      std::deque<std::pair<protocol::Header, std::string>> outcomes;
      const auto heard = worker->all<protocol::Task>();
      for (std::size_t i = answered; i < std::min(heard.size(), answered + 16); ++i) {
        protocol::Outcome outcome;
        outcome.task = heard[i].task;
        outcome.ok = true;
        outcomes.emplace_back(outcome, "result");
      }
      answered += outcomes.size();
      worker->say_together(outcomes);
    }
    for (const TaskId& task : tasks) EXPECT_EQ(text_of(end_of(task).pickle), "result");
  }
  Peer* worker = nullptr;
};

TEST_F(PackingTest, ShortTasksGoSeveralInOneMessageToAWorkerThatReadsThat) {
  std::vector<TaskId> tasks;
  for (int i = 0; i < 1000; ++i) tasks.push_back(submit());
  attach(true);
  run_all(tasks);
  ASSERT_EQ(worker->count<protocol::Task>(), 1000u);
  EXPECT_LT(worker->messages, 1000u)
      << "how many go together depends on how soon they come back: 4 and more on a machine that is not busy";
}

TEST_F(PackingTest, AWorkerThatDoesNotReadThemTogetherGetsEachTaskByItself) {
  std::vector<TaskId> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(submit());
  attach(false);
  run_all(tasks);
  EXPECT_GE(worker->messages, 100u);
  EXPECT_EQ(worker->count<protocol::Task>(), 100u);
}

TEST_F(PackingTest, WhatIsNotSoManyMessagesAsItSaysIsDropped) {
  const TaskId task = submit();
  attach(true);
  settle([&] { return worker->count<protocol::Task>() > 0; });
  worker->say(protocol::Several{2}, {"no messages"});
  worker->say(protocol::Several{2});
  finish(*worker, task);
  EXPECT_TRUE(end_of(task).ok);
}

TEST_F(WorkerTest, TheWorkersClockIsMappedToOurs) {
  const TaskId task = submit();
  auto& worker = workers.emplace_back(std::make_unique<Peer>(servers, "data", worker_keys, "tcp://127.0.0.1:*"));
  worker->clock_ahead = 1h;  // answers beats with the asker's stamp an hour ahead
  grant(1, *worker);
  settle([&] { return worker->count<protocol::Attach>() > 0; });
  worker->say(protocol::Attached{});
  settle([&] { return worker->count<protocol::Task>() > 0 && worker->count<protocol::Beat>() >= 3; });
  const std::int64_t there = Clock::now().time_since_epoch().count() + std::chrono::nanoseconds(1h).count();
  protocol::Outcome outcome;
  outcome.task = task;
  outcome.ok = true;
  outcome.received_ns = outcome.run.run_start_ns = there;
  outcome.run.run_end_ns = outcome.sent_ns = there + 5'000'000;
  worker->say(outcome, {"result"});
  const Timings& timings = end_of(task).timings;
  EXPECT_EQ(timings.run_ns, 5'000'000);
  EXPECT_LT(timings.send_ns, 10'000'000'000) << "the hour between the clocks does not show";
  EXPECT_LT(timings.receive_ns, 10'000'000'000);
}

}  // namespace pounce::client
