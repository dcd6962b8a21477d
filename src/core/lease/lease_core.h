// The daemon's decisions about leases: who gets a job, when it is submitted, given back, cancelled, adopted. Pure: no
// I/O, no clock, no thread, no randomness of its own; the same events at the same times give the same actions
// (docs/states.md). It never fails on news that is late, repeated or unknown: those are ignored, counted and told in the
// lease's history.
//
// Use: for each event, `for (const Action& a : core.handle(event, now)) carry_out(a);` and a timer at next_deadline()
// that sends TimePassed. The decisions themselves are in the rules (rules.h), each of which owns its data; here is only
// what no rule can own: the loop that runs them until nothing changes any more, and the view from outside. Thread: loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/lease/actions.h"
#include "core/lease/counters.h"
#include "core/lease/defaults.h"
#include "core/lease/events.h"
#include "core/lease/history.h"
#include "core/lease/lease_view.h"

namespace pounce::lease {

struct Rules;

class LeaseCore {
 public:
  // fresh_lease: a random id, never the same twice.
  LeaseCore(InstanceId instance, Defaults defaults, std::function<LeaseId()> fresh_lease);
  LeaseCore(LeaseCore&&) noexcept;
  ~LeaseCore();

  std::vector<Action> handle(const Event& event, TimePoint now);
  TimePoint next_deadline() const;  // TimePoint::max(): none

  std::vector<LeaseView> leases() const;  // not the ended ones; in id order
  std::vector<HistoryLine> history(const LeaseId& lease) const;  // also of recently ended ones
  std::vector<LeaseId> ended_leases() const;
  std::size_t session_count() const;
  bool has_session(const SessionId& session) const;  // not one that has been silent for longer than its grace
  bool speaks_for(const LeaseId& lease, WorkerIndex worker, WorkerLink link) const;  // false: it was sent away
  bool reconciled() const;  // a reconciliation has succeeded: the state can be trusted
  const Counters& counters() const;

  // What is broken (docs/states.md §Invariants), or nothing. check_invariants() aborts with it.
  std::optional<std::string> broken_invariant() const;
  void check_invariants() const;

 private:
  void excuse_silence(Duration late);
  void settle();

  std::unique_ptr<Rules> rules_;  // it stays where it is when the core moves: the rules know each other
};

}  // namespace pounce::lease
