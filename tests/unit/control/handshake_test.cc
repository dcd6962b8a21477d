// The handshake's table and times, with a clock moved by hand.
#include "control/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace pounce::control {
namespace {

using namespace std::chrono_literals;
using enum Stage;

class HandshakeTest : public testing::Test {
 protected:
  Step handle(Signal signal) { return handshake.handle(signal, now); }
  void reach(Stage stage) {
    const std::vector<Signal> way = {Signal::kStart, Signal::kProved, Signal::kWelcome, Signal::kConnected};
    for (const Signal signal : way) {
      if (handshake.stage() == stage) return;
      handle(signal);
    }
    ASSERT_EQ(handshake.stage(), stage);
  }

  TimePoint now{1h};
  Handshake handshake{{.answer = 10s, .silent_beats = 3}, 5s};
};

TEST_F(HandshakeTest, ProvesGreetsEntersAndIsOpen) {
  EXPECT_EQ(handle(Signal::kStart), Step::kProve);
  EXPECT_EQ(handle(Signal::kProved), Step::kGreet);
  EXPECT_EQ(handle(Signal::kConnected), Step::kNothing);
  EXPECT_EQ(handle(Signal::kWelcome), Step::kEnter);
  EXPECT_EQ(handle(Signal::kConnected), Step::kAnnounce);
  EXPECT_EQ(handshake.stage(), kOpen);
}

// A credential that was said twice would be a replay.
TEST_F(HandshakeTest, GreetsOncePerProof) {
  reach(kGreeting);
  EXPECT_EQ(handle(Signal::kProved), Step::kNothing);
  EXPECT_EQ(handle(Signal::kConnected), Step::kNothing);
  EXPECT_EQ(handle(Signal::kLost), Step::kHangUp);
  EXPECT_EQ(handle(Signal::kProved), Step::kNothing);
  EXPECT_EQ(handle(Signal::kStart), Step::kProve);
}

TEST_F(HandshakeTest, BeginsAnewFromEveryStage) {
  for (const Stage stage : {kDown, kProving, kGreeting, kEntering, kOpen}) {
    const auto [next, step] = transition(stage, Signal::kStart);
    EXPECT_EQ(next, kProving);
    EXPECT_EQ(step, Step::kProve);
  }
}

TEST_F(HandshakeTest, LosesTheConnectionFromEveryStageThatHasOne) {
  EXPECT_EQ(handle(Signal::kLost), Step::kNothing) << "it is down already";
  for (const Stage stage : {kProving, kGreeting, kEntering, kOpen}) {
    const auto [next, step] = transition(stage, Signal::kLost);
    EXPECT_EQ(next, kDown);
    EXPECT_EQ(step, Step::kHangUp);
  }
}

TEST_F(HandshakeTest, IsOpenOnlyByAWelcome) {
  for (const Signal signal :
       {Signal::kProved, Signal::kConnected, Signal::kWelcome, Signal::kRefused, Signal::kLost, Signal::kTimeUp})
    for (const Stage stage : {kDown, kProving, kGreeting}) EXPECT_NE(transition(stage, signal).next, kOpen);
}

TEST_F(HandshakeTest, TakesARefusalForAnEndOnlyBeforeItIsOpen) {
  reach(kOpen);
  EXPECT_EQ(handle(Signal::kRefused), Step::kNothing);
  EXPECT_EQ(transition(kGreeting, Signal::kRefused).step, Step::kHangUp);
}

// ---- time ----

TEST_F(HandshakeTest, ADownOneAndOneThatProvesWaitForNothing) {
  EXPECT_EQ(handshake.next_deadline(), TimePoint::max());
  reach(kProving);
  EXPECT_EQ(handshake.next_deadline(), TimePoint::max()) << "munged may take its time";
  EXPECT_EQ(handle(Signal::kTimeUp), Step::kNothing);
}

TEST_F(HandshakeTest, GivesTheGreetingAndTheEntryTheirTimeEach) {
  reach(kGreeting);
  EXPECT_EQ(handshake.next_deadline(), now + 10s);
  now += 9s;
  EXPECT_FALSE(handshake.time_up(now));
  handle(Signal::kWelcome);
  EXPECT_EQ(handshake.next_deadline(), now + 10s);
  now += 10s;
  EXPECT_TRUE(handshake.time_up(now));
  EXPECT_EQ(handle(Signal::kTimeUp), Step::kHangUp);
}

// A daemon that says something else all the time has not welcomed us.
TEST_F(HandshakeTest, IsNotHeldInTheGreetingByOtherMessages) {
  reach(kGreeting);
  now += 9s;
  handshake.seen(now);
  handle(Signal::kConnected);
  now += 1s;
  EXPECT_TRUE(handshake.time_up(now));
}

TEST_F(HandshakeTest, BeatsOncePerHeartbeatWhileOpen) {
  EXPECT_FALSE(handshake.beat_is_due(now));
  reach(kOpen);
  EXPECT_FALSE(handshake.beat_is_due(now));
  EXPECT_EQ(handshake.next_deadline(), now + 5s);
  now += 5s;
  EXPECT_TRUE(handshake.beat_is_due(now));
  EXPECT_FALSE(handshake.beat_is_due(now));
  EXPECT_EQ(handshake.next_deadline(), now + 5s);
}

TEST_F(HandshakeTest, TakesADaemonForGoneAfterItsSilentBeats) {
  reach(kOpen);
  now += 14s;
  EXPECT_FALSE(handshake.time_up(now));
  handshake.seen(now);
  now += 14s;
  EXPECT_FALSE(handshake.time_up(now));
  now += 1s;
  EXPECT_TRUE(handshake.time_up(now));
}

TEST_F(HandshakeTest, WithoutBeatsSilenceMeansNothing) {
  Handshake asks{{.answer = 10s}, 5s};
  for (const Signal signal : {Signal::kStart, Signal::kProved, Signal::kWelcome, Signal::kConnected})
    asks.handle(signal, now);
  now += 1h;
  EXPECT_FALSE(asks.time_up(now));
  EXPECT_FALSE(asks.beat_is_due(now));
  EXPECT_EQ(asks.next_deadline(), TimePoint::max());
}

// pounced wakes once for all of them.
TEST_F(HandshakeTest, BeatsWithTheDaemonsOtherPeersWhoeverOpenedFirst) {
  handshake.set_heartbeat(5s, now + 2s);
  Handshake later{{.answer = 10s, .silent_beats = 3}, 5s};
  later.set_heartbeat(5s, now + 102s);
  reach(kOpen);
  for (const Signal signal : {Signal::kStart, Signal::kProved, Signal::kWelcome, Signal::kConnected})
    later.handle(signal, now + 1s);
  EXPECT_EQ(handshake.next_deadline(), now + 2s);
  EXPECT_EQ(later.next_deadline(), now + 2s);
}

TEST_F(HandshakeTest, ALateBeatDoesNotShiftTheNext) {
  handshake.set_heartbeat(5s, now);
  reach(kOpen);
  EXPECT_TRUE(handshake.beat_is_due(now + 6s));
  EXPECT_EQ(handshake.next_deadline(), now + 10s);
}

TEST_F(HandshakeTest, DoesNotBeatWithoutPause) {
  handshake.set_heartbeat(0ms, now);
  EXPECT_EQ(handshake.heartbeat(), 100ms);
}

TEST(PauseTest, DoublesUpToFiveSeconds) {
  std::vector<std::chrono::milliseconds> pauses;
  for (int failures = 1; failures <= 7; ++failures) pauses.push_back(pause_after(failures));
  EXPECT_THAT(pauses, testing::ElementsAre(200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms, 5000ms));
  EXPECT_EQ(pause_after(1'000'000), 5000ms);
}

}  // namespace
}  // namespace pounce::control
