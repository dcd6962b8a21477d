// One client in the core's state, and what it wants. Plain data. Thread: loop.
#pragma once

#include <map>
#include <optional>

#include "base/clock.h"
#include "core/lease/events.h"
#include "pounce/error.h"

namespace pounce::lease {

struct RequestState {
  Request request;
  std::optional<Error> failed;  // a clear refusal; the counts below are those it was told for
  std::uint32_t failed_waiting = 0, failed_running = 0;
  TimePoint not_before{};       // no submission earlier (back-off, foreign scancel)
  bool on_purpose = false;      // that is so because somebody ended its lease: new calls are made in spite of it
  TimePoint starts_at{};        // when this daemon may start a lease for it, where starts are counted
  Cause wait_reason;            // why not, for the user
  Duration backoff{};
  std::uint32_t bad_starts = 0;  // leases in a row that ended before each of their workers had an interpreter

  bool demanded() const { return request.waiting > 0 || request.running > 0; }  // their sum may wrap: a client says them
};

struct Session {
  TimePoint last_seen;
  bool stays = false;  // never silent
  // Known from the journal, and has not said yet what it wants: until then its leases count as needed.
  std::optional<TimePoint> awaited_until;
  std::map<RequestId, RequestState> requests;
};

}  // namespace pounce::lease
