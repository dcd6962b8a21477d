// Who turns the engine, who is let in, and that nobody waits for ever. Each test waits for a condition, never for a
// time: with a leader token that loses a wake-up it would hang until ctest ends it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "unit/transport/fake_engine.h"

namespace pounce::transport {
namespace {

using namespace std::chrono_literals;

constexpr auto kNoStandBy = std::chrono::duration_cast<std::chrono::microseconds>(1h);  // never comes in a test
const auto kNever = [] { return false; };

struct LeaderTokenTest : testing::Test {
  FakeEngine engine;

  static TimePoint later() { return Clock::now() + 1h; }
};

TEST_F(LeaderTokenTest, TurnsTheEngineInTheThreadThatWaits) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);
  engine.post();

  EXPECT_TRUE(leader_token.pump_until([&] { return engine.letters == 1; }, later(), kNever));

  EXPECT_EQ(engine.turning_thread(), std::this_thread::get_id());
}

TEST_F(LeaderTokenTest, DoesNotTurnWhenTheThingHasAlreadyHappened) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);

  EXPECT_TRUE(leader_token.pump_until([] { return true; }, later(), kNever));

  EXPECT_EQ(engine.turns, 0);
}

TEST_F(LeaderTokenTest, GivesUpAtTheDeadline) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);

  EXPECT_FALSE(leader_token.pump_until([] { return false; }, Clock::now() + 5ms, kNever));
}

TEST_F(LeaderTokenTest, GivesUpWhenInterrupted) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);
  engine.post();

  EXPECT_FALSE(leader_token.pump_until([] { return false; }, later(), [] { return true; }));
}

TEST_F(LeaderTokenTest, TheStandByTurnsTheEngineWhenNobodyElseDoes) {
  LeaderToken leader_token(engine, "standby");

  engine.wait_for_turn(1);
  engine.post();
  engine.wait_for_turn(2);

  EXPECT_NE(engine.turning_thread(), std::this_thread::get_id());
  std::uint64_t letters = 0;
  leader_token.hold([&] { letters = engine.letters; });
  EXPECT_EQ(letters, 1u);
}

TEST_F(LeaderTokenTest, TheStandByStepsAsideForAThreadThatWaits) {
  LeaderToken leader_token(engine, "standby");
  engine.wait_for_turn(1);
  std::thread sender([&, waiting = std::this_thread::get_id()] {
    engine.wait_for_turn_of(waiting);
    engine.post();
  });

  EXPECT_TRUE(leader_token.pump_until([&] { return engine.letters == 1; }, later(), kNever));

  sender.join();
}

TEST_F(LeaderTokenTest, TheStandByTurnsAgainWhenAThreadStopsWaiting) {
  LeaderToken leader_token(engine, "standby");
  engine.post();
  ASSERT_TRUE(leader_token.pump_until([&] { return engine.letters == 1; }, later(), kNever));

  engine.post();
  while (engine.turning_thread() == std::this_thread::get_id()) std::this_thread::yield();

  ASSERT_TRUE(leader_token.pump_until([&] { return engine.letters == 2; }, later(), kNever));
}

TEST_F(LeaderTokenTest, HoldEndsTheTurnThatIsUnderWay) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);
  std::thread waiting(
      [&] { EXPECT_TRUE(leader_token.pump_until([&] { return engine.letters == 1; }, later(), kNever)); });
  engine.wait_for_turn(1);
  bool ran = false;

  leader_token.hold([&] { ran = true; });

  EXPECT_TRUE(ran);
  engine.post();
  waiting.join();
}

// Found by a turn of 200 ms: what a hold made true was noticed only at the next news.
TEST_F(LeaderTokenTest, AHoldDoesNotWaitForTheStandByThatSleeps) {
  engine.may_sleep = true;
  LeaderToken leader_token(engine, "standby");
  engine.wait_for_sleep();

  int turns = -1;
  leader_token.hold([&] { turns = engine.turns; });

  EXPECT_EQ(turns, 0);  // none was under way that had to end
}

TEST_F(LeaderTokenTest, TheStandByThatSleepsTurnsTheEngineWhenSomethingComes) {
  engine.may_sleep = true;
  LeaderToken leader_token(engine, "standby");
  engine.wait_for_sleep();

  for (std::uint64_t letter = 1; letter <= 3; ++letter) {
    engine.post();
    engine.wait_for_letters(letter);
  }

  std::uint64_t letters = 0;
  leader_token.hold([&] { letters = engine.letters; });
  EXPECT_EQ(letters, 3u);
}

TEST_F(LeaderTokenTest, AThreadLeadsWhileTheStandBySleeps) {
  engine.may_sleep = true;
  LeaderToken leader_token(engine, "standby");
  for (std::uint64_t letter = 1; letter <= 50; ++letter) {
    engine.wait_for_sleep();
    leader_token.hold([&] { engine.post(); });
    ASSERT_TRUE(leader_token.pump_until([&] { return engine.letters == letter; }, later(), kNever));
  }
}

TEST_F(LeaderTokenTest, WhatIsHeldAtOnceRunsOnlyWhereNoOtherThreadTurns) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);
  bool inside = true;
  engine.on_turn = [&] { inside = leader_token.hold_at_once([] {}); };
  engine.post();
  ASSERT_TRUE(leader_token.pump_until([&] { return engine.letters == 1; }, later(), kNever));
  int ran = 0;

  for (int i = 0; i < 40; ++i) leader_token.hold_at_once([&] { ++ran; });

  EXPECT_FALSE(inside);
  EXPECT_EQ(ran, 15);  // then the engine's turn is due
}

TEST_F(LeaderTokenTest, AThreadThatWaitsSeesWhatAHoldMadeTrue) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);
  bool enough = false;
  std::thread waiting([&] { EXPECT_TRUE(leader_token.pump_until([&] { return enough; }, later(), kNever)); });
  engine.wait_for_turn(1);

  leader_token.hold([&] { enough = true; });

  waiting.join();
}

TEST_F(LeaderTokenTest, HoldsThatFollowEachOtherTurnTheEngineNowAndThen) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);
  engine.post();

  while (engine.turns == 0) leader_token.hold([] {});

  EXPECT_EQ(engine.turning_thread(), std::this_thread::get_id());
  EXPECT_EQ(engine.letters, 1u);
}

TEST_F(LeaderTokenTest, FewHoldsTurnNothing) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);

  for (int i = 0; i < 8; ++i) leader_token.hold([] {});

  EXPECT_EQ(engine.turns, 0);
}

TEST_F(LeaderTokenTest, ALeaderFinishesThoseWhoFollow) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);
  std::thread leader([&] { leader_token.pump_until([&] { return engine.letters == 2; }, later(), kNever); });
  engine.wait_for_turn(1);
  std::thread sender([&] {
    engine.wait_for_turn(2);  // the follower has made itself known
    engine.post();
  });

  EXPECT_TRUE(leader_token.pump_until([&] { return engine.letters >= 1; }, later(), kNever));

  EXPECT_EQ(engine.turning_thread(), leader.get_id());
  engine.post();
  leader.join();
  sender.join();
}

// Found by reading: a follower that came after its news was never asked until the leader's next news.
TEST_F(LeaderTokenTest, AFollowerIsAskedWhetherItsThingHasAlreadyHappened) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);
  engine.post();
  std::thread leader([&] { leader_token.pump_until([&] { return engine.letters == 2; }, later(), kNever); });
  engine.wait_for_turn(2);  // the message was read in turn 1

  EXPECT_TRUE(leader_token.pump_until([&] { return engine.letters == 1; }, later(), kNever));

  engine.post();
  leader.join();
}

// Found by a worker whose second thread waited too: the main thread came with a time that was over, was never asked
// whether a task had come, and tried again without a pause.
TEST_F(LeaderTokenTest, AFollowerIsAskedHoweverLateItComes) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);
  std::thread leader([&] { leader_token.pump_until([&] { return engine.letters == 1; }, later(), kNever); });
  engine.wait_for_turn(1);
  int asked = 0;

  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(leader_token.pump_until([&] { return ++asked == 0; }, Clock::now() - 1s, kNever));

  EXPECT_GE(asked, 100);
  engine.post();
  leader.join();
}

// Found by reading: a thread that was inside went on with memory that was freed.
TEST_F(LeaderTokenTest, EndsWhenNoThreadIsInside) {
  auto leader_token = std::make_unique<LeaderToken>(engine, "standby", kNoStandBy);
  std::atomic<bool> inside = false, ended = false, saw_the_end = false;
  const auto lingers = [&] {
    inside = true;
    for (const TimePoint until = Clock::now() + 100ms; !ended && Clock::now() < until;) std::this_thread::yield();
    saw_the_end = ended.load();
    return true;
  };
  std::thread waiting([&, token = leader_token.get()] { token->pump_until([] { return false; }, later(), lingers); });
  engine.post();
  while (!inside) std::this_thread::yield();

  leader_token.reset();
  ended = true;

  waiting.join();
  EXPECT_FALSE(saw_the_end);
}

// The same for a thread that follows, and one that leads in an engine that has nothing to do.
TEST_F(LeaderTokenTest, EndsTheWaitsOfOtherThreads) {
  auto leader_token = std::make_unique<LeaderToken>(engine, "standby", kNoStandBy);
  const auto wait = [token = leader_token.get()] { token->pump_until([] { return false; }, later(), kNever); };
  std::thread leader(wait);
  engine.wait_for_turn(1);
  std::thread follower(wait);
  engine.wait_for_turn(2);  // it has made itself known

  leader_token.reset();

  leader.join();
  follower.join();
}

TEST_F(LeaderTokenTest, AFollowerLeadsWhenTheLeaderGoes) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);
  std::thread leader([&] { leader_token.pump_until([&] { return engine.letters >= 1; }, later(), kNever); });
  engine.wait_for_turn(1);
  std::thread sender([&, follower = std::this_thread::get_id()] {
    engine.wait_for_turn(2);
    engine.post();
    leader.join();
    engine.wait_for_turn_of(follower);
    engine.post();
  });

  EXPECT_TRUE(leader_token.pump_until([&] { return engine.letters == 2; }, later(), kNever));

  sender.join();
}

TEST_F(LeaderTokenTest, AThreadThatWaitsGetsItsTurnThroughAStormOfHolds) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);
  std::atomic<bool> stop = false;
  std::thread storm([&] {
    while (!stop) leader_token.hold([] {});
  });

  EXPECT_TRUE(leader_token.pump_until([&] { return engine.turns >= 100; }, later(), kNever));

  stop = true;
  storm.join();
}

TEST_F(LeaderTokenTest, HoldInsideATurnAndInsideAnActRunsAtOnce) {
  LeaderToken* inside = nullptr;
  int ran = 0;
  engine.on_turn = [&] {
    if (inside != nullptr) inside->hold([&] { ++ran; });
  };
  LeaderToken leader_token(engine, "standby", kNoStandBy);
  leader_token.hold([&] {
    inside = &leader_token;
    leader_token.hold([&] { ++ran; });
  });
  engine.post();

  ASSERT_TRUE(leader_token.pump_until([&] { return engine.letters == 1; }, later(), kNever));

  EXPECT_EQ(ran, 2);
}

TEST_F(LeaderTokenTest, AnActThatThrowsGivesTheLeaderTokenBack) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);

  EXPECT_THROW(leader_token.hold([] { throw std::runtime_error("act"); }), std::runtime_error);

  bool ran = false;
  std::thread([&] { leader_token.hold([&] { ran = true; }); }).join();
  EXPECT_TRUE(ran);
}

TEST_F(LeaderTokenTest, AnInterruptionThatThrowsLeavesNoLeaderBehind) {
  LeaderToken leader_token(engine, "standby", kNoStandBy);
  engine.post();
  const auto throws = []() -> bool { throw std::runtime_error("interrupted"); };

  EXPECT_THROW(leader_token.pump_until([] { return false; }, later(), throws), std::runtime_error);

  engine.post();
  EXPECT_TRUE(leader_token.pump_until([&] { return engine.letters == 2; }, later(), kNever));
}

TEST_F(LeaderTokenTest, ManyThreadsThatCallAndWaitAllFinish) {
  constexpr int kThreads = 4, kRounds = 300;
  LeaderToken leader_token(engine, "standby", 100us);
  std::vector<std::thread> threads;
  int calls = 0;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        std::uint64_t mine = 0;
        leader_token.hold([&] { mine = static_cast<std::uint64_t>(++calls); });
        engine.post();
        EXPECT_TRUE(leader_token.pump_until([&] { return engine.letters >= mine; }, later(), kNever));
      }
    });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(calls, kThreads * kRounds);
}

TEST(LeaderTokenDeathTest, PumpUntilInsideAnActIsAProgrammersError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  FakeEngine engine;
  LeaderToken leader_token(engine, "standby", kNoStandBy);

  EXPECT_DEATH(leader_token.hold([&] { leader_token.pump_until([] { return true; }, Clock::now(), kNever); }), "");
}

TEST_F(LeaderTokenTest, DoesNothingInAForkedChild) {
  auto leader_token = std::make_unique<LeaderToken>(engine, "standby");
  engine.wait_for_turn(1);
  const pid_t child = ::fork();
  if (child == 0) {
    leader_token->abandon_after_fork();
    bool ran = false;
    leader_token->hold([&] { ran = true; });
    const bool finished = leader_token->pump_until([] { return true; }, Clock::now() + 1h, kNever);
    leader_token.reset();
    ::_exit(ran || finished ? 1 : 0);
  }

  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace pounce::transport
