// The daemon's decisions about leases: who gets a job, when it is submitted, given back, cancelled, adopted. Pure: no
// I/O, no clock, no thread, no randomness of its own; the same events at the same times give the same actions
// (docs/states.md). News that is late, repeated or unknown is never an error: it is ignored, counted, and noted in the
// lease's history.
//
// Use: for each event, `for (const Action& a : core.handle(event, now)) carry_out(a);` and a timer at next_deadline()
// that sends TimePassed. Others see leases as LeaseView. What is decided stands in the sources of rules.h. Thread:
// loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/lease/actions.h"
#include "core/lease/defaults.h"
#include "core/lease/events.h"
#include "core/lease/state.h"

namespace pounce::lease {

// What the core has counted since it began, for status documents and tests.
struct Counters {
  std::uint64_t events = 0, ignored = 0, submits = 0, polls = 0, snapshots = 0, reconciles = 0, cancels = 0;
};

// One lease as status documents show it.
struct LeaseView {
  LeaseId lease;
  LeaseState state = LeaseState::kRequested;
  Resources resources;
  std::optional<Owner> owner;
  std::optional<JobIdentity> job;
  std::string node, devices;
  job::Waiting why;                     // what Slurm last said of its wait
  std::int64_t start_s = 0, end_s = 0;  // unix; 0 = not known
  model::Given given;
  std::uint32_t running = 0;   // tasks, by the workers' last beats
  bool worker_linked = false;  // one of them at least
  Cause reason;                // why it is in this state
  std::uint32_t waiting = 0;   // tasks not yet sent, by its request's last demand
  bool release_asked = false;
  TimePoint born{}, since{};  // since: in this state
  TimePoint not_before{};     // requested: it is not submitted earlier
  std::uint32_t workers_ready = 0;
};

struct Core;

class LeaseCore {
 public:
  // fresh_lease: a random id, never the same twice.
  LeaseCore(InstanceId instance, Defaults defaults, std::function<LeaseId()> fresh_lease);
  LeaseCore(LeaseCore&&) noexcept;
  ~LeaseCore();

  std::vector<Action> handle(const Event& event, TimePoint now);
  TimePoint next_deadline() const;  // TimePoint::max(): none

  std::vector<LeaseView> leases() const;                         // not the ended ones; in id order
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
  std::unique_ptr<Core> core_;
};

}  // namespace pounce::lease
