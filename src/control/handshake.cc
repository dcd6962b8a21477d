#include "control/handshake.h"

#include <algorithm>
#include <array>

namespace pounce::control {
namespace {

using enum Stage;
using std::chrono::milliseconds;

constexpr milliseconds kShortestBeat{100};
constexpr milliseconds kFirstPause{200}, kLongestPause{5000};

constexpr std::size_t kStages = 5, kSignals = 7;

constexpr Transition again{kProving, Step::kProve}, over{kDown, Step::kHangUp};
constexpr Transition at(Stage stage) { return {stage, Step::kNothing}; }  // late, or twice: nothing changes

constexpr std::array<std::array<Transition, kSignals>, kStages> kTable = {{
    //  kStart  kProved                    kConnected                kWelcome                   kRefused       kLost
    //  kTimeUp
    {{again, at(kDown), at(kDown), at(kDown), at(kDown), at(kDown), at(kDown)}},
    {{again, {kGreeting, Step::kGreet}, at(kProving), at(kProving), at(kProving), over, at(kProving)}},
    {{again, at(kGreeting), at(kGreeting), {kEntering, Step::kEnter}, over, over, over}},
    {{again, at(kEntering), {kOpen, Step::kAnnounce}, at(kEntering), over, over, over}},
    {{again, at(kOpen), at(kOpen), at(kOpen), at(kOpen), over, over}},
}};

}  // namespace

Transition transition(Stage stage, Signal signal) {
  return kTable[static_cast<std::size_t>(stage)][static_cast<std::size_t>(signal)];
}

TimePoint next_beat(TimePoint now, TimePoint common, milliseconds heartbeat) {
  const Duration since = (now - common) % Duration(heartbeat);  // negative where `common` is still to come
  return now - since + (since < Duration::zero() ? Duration::zero() : Duration(heartbeat));
}

Handshake::Handshake(Patience patience, milliseconds heartbeat) : patience_(patience), heartbeat_(heartbeat) {}

Step Handshake::handle(Signal signal, TimePoint now) {
  const auto [next, step] = transition(stage_, signal);
  if (next != stage_ || step != Step::kNothing) since_ = now;
  stage_ = next;
  if (step == Step::kAnnounce) {
    last_seen_ = now;
    beat_due_ = next_beat(now);
  }
  return step;
}

void Handshake::set_heartbeat(milliseconds heartbeat, TimePoint common) {
  heartbeat_ = std::max(kShortestBeat, heartbeat);
  common_ = common;
}

TimePoint Handshake::limit() const {
  if (stage_ == kGreeting || stage_ == kEntering) return since_ + patience_.answer;
  if (stage_ == kOpen && patience_.silent_beats > 0) return last_seen_ + patience_.silent_beats * heartbeat_;
  return TimePoint::max();
}

bool Handshake::beat_is_due(TimePoint now) {
  if (stage_ != kOpen || patience_.silent_beats == 0 || now < beat_due_) return false;
  beat_due_ = next_beat(now);
  return true;
}

TimePoint Handshake::next_deadline() const {
  const bool beats = stage_ == kOpen && patience_.silent_beats > 0;
  return std::min(limit(), beats ? beat_due_ : TimePoint::max());
}

milliseconds pause_after(int failures) {
  return std::min(kFirstPause * (1 << std::clamp(failures - 1, 0, 5)), kLongestPause);
}

}  // namespace pounce::control
