// The client's end of the bulk lane: what goes over it, what waits for it, and what becomes of it when it is lost.
#include "unit/client/world.h"

namespace pounce::client {
namespace {

constexpr std::size_t kLarge = 9 * 1024 * 1024 + 7;

class LaneTest : public LanesTest {
 protected:
  void SetUp() override {
    LanesTest::SetUp();
    if (IsSkipped()) return;
    worker = &*workers.emplace_back(std::make_unique<Peer>(servers, "data", worker_keys, "tcp://127.0.0.1:*"));
  }

  void attach() {
    grant(1, *worker);
    answer_attach(1);
  }
  // The so manieth attach, with keys of a new lane if it wants one.
  void answer_attach(std::size_t number, std::vector<protocol::Reached> reached = {}) {
    settle([&] { return worker->count<protocol::Attach>() == number; });
    protocol::Attached who;
    who.reached = std::move(reached);
    if (worker->all<protocol::Attach>().back().no_bulk) return worker->say(who);
    lane.emplace();
    who.bulk = acceptor->endpoint();
    worker->say(who, {bulk::to_bytes(acceptor->keys_for("client"))});
  }
  void see_to(const std::function<bool()>& condition, int line = __builtin_LINE()) {
    settle(
        [&] {
          while (auto accepted = acceptor->accept()) lane->add(std::move(accepted->second));
          if (lane)
            for (const bulk::Event& event : lane->events())
              if (const auto* whole = std::get_if<bulk::Whole>(&event)) come.push_back(whole->of);
          return condition();
        },
        line);
  }

  void what_was_said_is_heard(int line = __builtin_LINE()) {
    worker->say(protocol::Beat{false, 77, 0});
    see_to(
        [&] {
          return std::ranges::any_of(worker->all<protocol::Beat>(),
                                     [](const auto& beat) { return beat.answer && beat.sent_ns == 77; });
        },
        line);
  }

  ObjectId hold(std::size_t size, char fill = 'b') {
    Object made{own_bytes("pickle"), {own_bytes(std::string(size, fill))}};
    const ObjectId id = digest_object(made.pickle, made.buffers);
    engine->hold_object(id, std::move(made), false);
    return id;
  }
  void fetch(const ObjectId& object, Position from = {}) {
    lane->fetch(object.hex(), {{room.size(), std::as_writable_bytes(std::span(room)), {}, {}}}, from);
  }
  static protocol::Outcome outcome_of(const TaskId& task) {
    protocol::Outcome outcome;
    outcome.task = task;
    outcome.ok = outcome.fetched = true;
    outcome.buffers = {kLarge};
    return outcome;
  }
  void offer(const TaskId& task) {
    const auto text = std::make_shared<const std::string>(result);
    lane->offer(task.hex(), {{std::as_bytes(std::span(*text)), text}});
  }

  Peer* worker = nullptr;
  std::optional<bulk::Lane> lane;
  std::vector<std::string> come;
  KeyPair identity_of_client = identity::make_key_pair();
  std::size_t lost = 0;
  Duration passed{};
  std::string room = std::string(kLarge, '\0'), result = std::string(kLarge, 'r');
};

TEST_F(LaneTest, ALargeObjectIsAnnouncedAndItsTaskComesWhenItIsThere) {
  const ObjectId object = hold(kLarge);
  submit({object});
  attach();
  see_to([&] { return worker->count<protocol::Object>() == 1; });
  EXPECT_TRUE(worker->all<protocol::Object>().front().fetched);
  fetch(object);
  see_to([&] { return come == std::vector{object.hex()}; });
  EXPECT_EQ(room, std::string(kLarge, 'b'));
  EXPECT_EQ(worker->count<protocol::Task>(), 0u);

  worker->say(protocol::Have{object});

  see_to([&] { return worker->count<protocol::Task>() == 1; });
  EXPECT_EQ(worker->count<protocol::Chunk>(), 0u);
}

TEST_F(LaneTest, AnswersDoNotWaitForIt) {
  submit({hold(kLarge)});
  attach();
  see_to([&] { return worker->count<protocol::Object>() == 1; });

  what_was_said_is_heard();

  EXPECT_EQ(worker->count<protocol::Task>(), 0u);
}

TEST_F(LaneTest, ATaskWaitsForAllItsObjects) {
  const ObjectId first = hold(kLarge), second = hold(kLarge, 'c'), small = hold(100, 'd');
  submit({first, second, small});
  attach();
  see_to([&] { return worker->count<protocol::Object>() == 3; });
  worker->say(protocol::Have{first});
  worker->say(protocol::Have{small});
  what_was_said_is_heard();
  EXPECT_EQ(worker->count<protocol::Task>(), 0u);

  worker->say(protocol::Have{second});

  see_to([&] { return worker->count<protocol::Task>() == 1; });
  EXPECT_EQ(worker->all<protocol::Task>().back().objects.size(), 3u);
}

TEST_F(LaneTest, ACancelFollowsTheTaskThatWaitsForItsObject) {
  const ObjectId object = hold(kLarge);
  const TaskId task = submit({object});
  attach();
  see_to([&] { return worker->count<protocol::Object>() == 1; });
  engine->cancel(task, 5s, false);
  what_was_said_is_heard();
  EXPECT_EQ(worker->count<protocol::CancelTask>(), 0u);

  worker->say(protocol::Have{object});

  see_to([&] { return worker->count<protocol::CancelTask>() == 1; });
  EXPECT_TRUE(std::holds_alternative<protocol::CancelTask>(worker->heard.back().header));
  EXPECT_EQ(worker->count<protocol::Task>(), 1u);
}

TEST_F(LaneTest, ASmallObjectGoesBesideTheCalls) {
  submit({hold(100'000)});
  attach();
  see_to([&] { return worker->count<protocol::Task>() == 1; });

  EXPECT_FALSE(worker->all<protocol::Object>().front().fetched);
  EXPECT_EQ(worker->count<protocol::Chunk>(), 1u);
}

TEST_F(LaneTest, ALargeResultIsFetchedIntoItsPlace) {
  const TaskId task = submit();
  attach();
  see_to([&] { return worker->count<protocol::Task>() == 1; });
  offer(task);
  worker->say(outcome_of(task), {"pickle"});

  see_to([&] { return ended(task) != nullptr; });

  EXPECT_TRUE(ended(task)->ok);
  EXPECT_EQ(text_of(ended(task)->buffers.front()), result);
  see_to([&] { return worker->count<protocol::Ack>() == 1; });
}

class KeptResultTest : public LaneTest {
 protected:
  // Its result has come, and is an object that this worker makes of its own copy.
  TaskId kept() {
    const TaskId task = submit();
    EXPECT_TRUE(engine->keep_result(task));
    attach();
    see_to([&] { return worker->count<protocol::Task>() == 1; });
    offer(task);
    worker->say(outcome_of(task), {"pickle"});
    see_to([&] { return ended(task) != nullptr && worker->count<protocol::Ack>() == 1; });
    return task;
  }
};

TEST_F(KeptResultTest, StaysAtItsWorkerAndWhatNeedsItThereWaitsForItsWordAndIsSentNothing) {
  const TaskId task = kept();
  EXPECT_EQ(worker->all<protocol::Ack>().front().kept, std::vector{task});
  const auto result_of = engine->take_kept(task);
  ASSERT_TRUE(result_of);
  EXPECT_EQ(result_of->id, protocol::object_of(task));
  EXPECT_FALSE(engine->take_kept(task)) << "once";
  submit({result_of->id});
  what_was_said_is_heard();
  EXPECT_EQ(worker->count<protocol::Task>(), 1u);

  worker->say(protocol::Have{result_of->id});

  see_to([&] { return worker->count<protocol::Task>() == 2; });
  EXPECT_EQ(worker->count<protocol::Object>(), 0u);
}

TEST_F(KeptResultTest, IsOfferedByTheClientAsItCameWhereItsWorkerCannotKeepIt) {
  const TaskId task = kept();
  const auto result_of = engine->take_kept(task);
  submit({result_of->id});
  WritableBytes& of_user = const_cast<WritableBytes&>(ended(task)->buffers.front());
  std::ranges::fill(of_user.bytes, std::byte{0});

  worker->say(protocol::NotFetched{result_of->id});

  see_to([&] { return worker->count<protocol::Object>() == 1; });
  fetch(result_of->id);
  see_to([&] { return come == std::vector{result_of->id.hex()}; });
  EXPECT_EQ(room, result) << "the user wrote into the value, and not into what is sent";
}

TEST_F(KeptResultTest, IsDroppedThereAsSoonAsNobodyNeedsIt) {
  const TaskId task = kept();
  const auto result_of = engine->take_kept(task);
  worker->say(protocol::Have{result_of->id});
  what_was_said_is_heard();
  EXPECT_EQ(worker->count<protocol::Drop>(), 0u);

  engine->release_object(result_of->id, result_of->holder);

  see_to([&] { return worker->count<protocol::Drop>() == 1; });
  EXPECT_EQ(worker->all<protocol::Drop>().front().objects, std::vector{result_of->id});
}

TEST_F(KeptResultTest, IsNoneOfACallThatFailedNorOfOneThatHasEnded) {
  const TaskId task = submit();
  engine->keep_result(task);
  attach();
  see_to([&] { return worker->count<protocol::Task>() == 1; });
  protocol::Outcome failed = outcome_of(task);
  failed.ok = false;
  failed.error = Error{ErrorCode::kTaskRaised, "raised", {}, {}};
  offer(task);
  worker->say(failed, {"pickle"});

  see_to([&] { return ended(task) != nullptr && worker->count<protocol::Ack>() == 1; });

  EXPECT_TRUE(worker->all<protocol::Ack>().front().kept.empty());
  EXPECT_FALSE(engine->take_kept(task));
  EXPECT_FALSE(engine->keep_result(task));
}

TEST_F(LaneTest, WhereNoneCanBeHadTheDataTakesTheOtherRoad) {
  const ObjectId object = hold(kLarge);
  submit({object});
  grant(1, *worker);
  settle([&] { return worker->count<protocol::Attach>() == 1; });
  protocol::Attached who;
  who.bulk = acceptor->endpoint();
  worker->say(who, {bulk::to_bytes(acceptor->keys_for("client"))});
  acceptor->forget("client");  // nobody gets in: as behind a firewall
  lane.emplace();

  see_to([&] { return worker->count<protocol::Attach>() == 2; });
  EXPECT_TRUE(worker->all<protocol::Attach>().back().no_bulk);
  answer_attach(2);
  see_to([&] { return worker->count<protocol::Query>() == 2; });
  worker->say(protocol::QueryIs{{worker->all<protocol::Query>().back().tasks}, {RemoteTaskState::kUnknown}});

  see_to([&] { return worker->count<protocol::Task>() == 1; });
  EXPECT_FALSE(worker->all<protocol::Object>().back().fetched);
  EXPECT_EQ(worker->count<protocol::Chunk>(), kLarge / protocol::kChunkBytes + 1);
}

TEST_F(LaneTest, OneThatWasLostIsFollowedByAnotherAndTheObjectIsOfferedAgain) {
  const ObjectId object = hold(kLarge);
  const TaskId task = submit({object});
  attach();
  see_to([&] { return worker->count<protocol::Object>() == 1 && lane->streams() == 1; });

  lane.reset();

  see_to([&] { return worker->count<protocol::Attach>() == 2; });
  EXPECT_FALSE(worker->all<protocol::Attach>().back().no_bulk);
  answer_attach(2, {{object.hex(), 0, 4 * 1024 * 1024, false}});
  see_to([&] { return worker->count<protocol::Query>() == 2; });
  worker->say(protocol::QueryIs{{task}, {RemoteTaskState::kUnknown}});
  see_to([&] { return worker->count<protocol::Object>() == 2; });
  fetch(object, {0, 4 * 1024 * 1024});
  see_to([&] { return come == std::vector{object.hex()}; });
  EXPECT_EQ(room.substr(4 * 1024 * 1024), std::string(kLarge - 4 * 1024 * 1024, 'b'));
  EXPECT_EQ(room[0], '\0') << "that was there";
}

TEST_F(LaneTest, AfterThreeLossesItIsNotTriedAgain) {
  submit({hold(kLarge)});
  attach();
  for (std::size_t losses = 1; losses <= 3; ++losses) {
    see_to([&] { return worker->count<protocol::Object>() == losses && lane->streams() == 1; });
    lane.reset();
    see_to([&] { return worker->count<protocol::Attach>() == losses + 1; });
    EXPECT_EQ(worker->all<protocol::Attach>().back().no_bulk, losses == 3);
    answer_attach(losses + 1);
    see_to([&] { return worker->count<protocol::Query>() == losses + 1; });
    worker->say(protocol::QueryIs{{worker->all<protocol::Query>().back().tasks}, {RemoteTaskState::kUnknown}});
  }
  see_to([&] { return worker->count<protocol::Task>() == 1; });
}

// Each connection held a thread and descriptors, at either end, for as long as the worker was there.
TEST_F(LaneTest, ItsConnectionsAreGivenBackWhenNothingTookThemForAMinuteAndMadeAgainWhenSomethingDoes) {
  const ObjectId object = hold(kLarge);
  protocol::Attach attach;
  WorkerLink link(context, identity_of_client, worker->endpoint(), worker_keys.public_key, attach, Clock::now());
  const auto pump = [&](Duration later) {
    for (const LinkEvent& event : link.pump(Clock::now() + later, true))
      lost += std::holds_alternative<LinkLost>(event);
  };
  const auto send = [&](const ObjectId& id, char fill) {
    const Object made{own_bytes(""), {own_bytes(std::string(kLarge, fill))}};
    link.objects().send(id, made);
    for (const ObjectId& wanted : link.objects().take_wanted()) link.objects().offer(wanted, made);
  };
  const auto see = [&](const std::function<bool()>& condition) { see_to([&] { return pump(passed), condition(); }); };
  see([&] { return worker->count<protocol::Attach>() == 1; });
  answer_attach(1);
  see([&] { return link.connection().attached(); });
  send(object, 'b');
  see([&] { return worker->count<protocol::Object>() == 1 && lane->streams() == 1; });
  fetch(object);
  see([&] { return come.size() == 1; });

  pump(61s);
  EXPECT_EQ(lost, 0u) << "the worker has not said yet that it has it";
  worker->say(protocol::Have{object});
  see([&] { return link.objects().held().confirmed(object); });
  pump(30s);
  EXPECT_EQ(lost, 0u);
  passed = 61s;

  see([&] { return worker->count<protocol::Attach>() == 2 && link.connection().descriptors().bulk < 0; });
  EXPECT_FALSE(worker->all<protocol::Attach>().back().no_bulk);
  answer_attach(2);
  see([&] { return link.connection().descriptors().bulk >= 0; });
  const ObjectId other = random_id<ObjectId>();
  send(other, 'c');
  see([&] { return worker->count<protocol::Object>() == 2; });
  fetch(other);
  see([&] { return come.size() == 2; });
  EXPECT_EQ(room, std::string(kLarge, 'c'));
  EXPECT_EQ(lost, 0u);
  EXPECT_TRUE(link.objects().held().contains(object));
}

TEST_F(LaneTest, AResultGoesOnWhereItsLaneWasLost) {
  const TaskId task = submit();
  attach();
  see_to([&] { return worker->count<protocol::Task>() == 1; });
  // The first buffer comes, the second never does.
  protocol::Outcome outcome = outcome_of(task);
  outcome.buffers = {5, kLarge};
  lane->offer(task.hex(), {{std::as_bytes(std::span("first", 5)), nullptr}});
  worker->say(outcome, {"pickle"});
  see_to([&] { return worker->count<protocol::Attach>() == 2; });  // it asked for what is not there
  answer_attach(2);
  see_to([&] { return worker->count<protocol::Query>() == 2; });
  const auto reached = worker->all<protocol::Query>().back().reached;
  ASSERT_EQ(reached.size(), 1u);
  const auto text = std::make_shared<const std::string>(result);
  lane->offer(task.hex(), {{{}, nullptr}, {std::as_bytes(std::span(*text)), text}});
  outcome.from = reached.front();

  worker->say(outcome, {"pickle"});

  see_to([&] { return ended(task) != nullptr; });
  EXPECT_EQ(reached.front().buffer, 1u);
  ASSERT_EQ(ended(task)->buffers.size(), 2u);
  EXPECT_EQ(text_of(ended(task)->buffers[0]), "first");
  EXPECT_EQ(text_of(ended(task)->buffers[1]), result);
}

}  // namespace
}  // namespace pounce::client
