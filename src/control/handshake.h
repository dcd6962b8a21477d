// The way to an open control channel, as a table: prove, greet at the handshake endpoint, be welcomed, enter the
// control channel; and how long each may take. It decides; control_connection acts. Pure: no socket, no clock.
// Thread: any.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace pounce::control {

enum class Stage : std::uint8_t {
  kDown,
  kProving,   // a proof is being made, for one hello
  kGreeting,  // hello is on its way to the handshake endpoint, or was said: a welcome is waited for
  kEntering,  // welcomed: the control channel's connection is being made
  kOpen
};

enum class Signal : std::uint8_t {
  kStart,      // a daemon's address is known
  kProved,     // the proof is made
  kConnected,  // the connection under way stands
  kWelcome,
  kRefused,
  kLost,  // the connection, or the means to make one; no proof could be made
  kTimeUp
};

enum class Step : std::uint8_t {
  kNothing,
  kProve,     // make a proof for this address; it is used once
  kGreet,     // connect to the handshake endpoint and say hello
  kEnter,     // hang up there and connect to the control channel
  kAnnounce,  // it is open
  kHangUp     // it is over, and the owner is told why
};

struct Transition {
  Stage next;
  Step step;
};
Transition transition(Stage stage, Signal signal);

struct Patience {
  std::chrono::milliseconds answer;  // for a welcome, and again for the control channel; a proof has no limit
  int silent_beats = 0;              // that the daemon may be silent for; 0: no beats, and silence means nothing
};

// The first moment after `now` that lies a whole number of heartbeats from `common`.
TimePoint next_beat(TimePoint now, TimePoint common, std::chrono::milliseconds heartbeat);

class Handshake {
 public:
  explicit Handshake(Patience patience, std::chrono::milliseconds heartbeat);

  Step handle(Signal signal, TimePoint now);
  Stage stage() const { return stage_; }

  void seen(TimePoint now) { last_seen_ = now; }  // anything from the daemon
  TimePoint last_seen() const { return last_seen_; }
  // Beats fall a whole number of heartbeats from `common`, which all peers of a daemon share: it wakes once for them.
  void set_heartbeat(std::chrono::milliseconds heartbeat, TimePoint common);
  std::chrono::milliseconds heartbeat() const { return heartbeat_; }

  bool time_up(TimePoint now) const { return now >= limit(); }
  bool beat_is_due(TimePoint now);  // true at most once per heartbeat
  TimePoint next_beat(TimePoint now) const { return control::next_beat(now, common_, heartbeat_); }
  TimePoint next_deadline() const;  // of either; TimePoint::max(): none

 private:
  TimePoint limit() const;

  const Patience patience_;
  std::chrono::milliseconds heartbeat_;
  Stage stage_ = Stage::kDown;
  TimePoint since_{}, last_seen_{}, common_{}, beat_due_ = TimePoint::max();
};

// The pause before the next attempt of a process that never gives up: doubled each time, up to a limit.
std::chrono::milliseconds pause_after(int failures);

}  // namespace pounce::control
