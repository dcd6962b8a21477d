// The daemon's decisions about leases: who gets a job, when it is submitted, given back, cancelled, adopted. Pure: no
// I/O, no clock, no thread, no randomness of its own; the same events at the same times give the same actions
// (design §4, docs/states.md). It never fails on news that is late, repeated or unknown: those are ignored, counted and
// told in the lease's story.
//
// Use: for each event, `for (const Action& a : core.handle(event, now)) carry_out(a);` and a timer at next_deadline()
// that sends TimePassed. Thread: loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/lease/actions.h"
#include "core/lease/defaults.h"
#include "core/lease/events.h"
#include "core/lease/lease.h"
#include "core/lease/reason.h"
#include "core/lease/session.h"
#include "core/lease/table.h"

namespace pounce::lease {

// One lease as status documents show it.
struct LeaseView {
  LeaseId lease;
  LeaseState state = LeaseState::kWanted;
  Resources resources;
  std::optional<Owner> owner;
  std::optional<Incarnation> job;
  std::string node, devices;
  Waiting why;                          // what Slurm last said of its wait
  std::int64_t start_s = 0, end_s = 0;  // unix; 0 = not known
  std::uint32_t running = 0;            // tasks, by the workers' last beats
  bool worker_linked = false;  // one of them at least
  std::string reason;          // why it is in this state, in plain words
  std::uint32_t waiting = 0;   // tasks not yet sent, by its want's last demand
  bool release_asked = false;
  TimePoint born{}, since{};   // since: in this state
  TimePoint not_before{};      // wanted: it is not asked for earlier
  std::uint32_t workers_ready = 0;
};

struct Counters {
  std::uint64_t events = 0, ignored = 0, submits = 0, polls = 0, looks = 0, sweeps = 0, cancels = 0;
};

class LeaseCore {
 public:
  // fresh_lease: a random id, never the same twice.
  LeaseCore(InstanceId instance, Defaults defaults, std::function<LeaseId()> fresh_lease);

  std::vector<Action> handle(const Event& event, TimePoint now);
  TimePoint next_deadline() const { return deadline_; }  // TimePoint::max(): none

  std::vector<LeaseView> leases() const;  // not the ended ones; in id order
  std::vector<StoryLine> story(const LeaseId& lease) const;  // also of recently ended ones
  std::vector<LeaseId> ended_leases() const { return {ended_.begin(), ended_.end()}; }
  std::size_t session_count() const { return sessions_.size(); }
  bool reconciled() const { return reconciled_; }  // a sweep has succeeded: the books can be trusted
  const Counters& counters() const { return counters_; }

  // What is broken (docs/states.md §Invariants), or nothing. check_invariants() aborts with it.
  std::optional<std::string> broken_invariant() const;
  void check_invariants() const;

 private:
  // sessions.cc
  void on(const SessionOpened& event);
  void on(const SessionHeard& event);
  void on(const SessionClosed& event);
  void on(const DemandChanged& event);
  void take_demand(const SessionId& session, Session& book, const Want& want);
  void answer_holds(const Owner& owner, const Want& want);
  Lease* take_over(const Owner& owner, const Want& want, Lease* wanted);
  Lease* held_by(const Want& want);
  Lease* spare_for(const Resources& resources);
  void offer_spares();
  void demand_news(Lease& lease, bool demanded);
  void forget_session(const SessionId& session, const std::string& why);
  // submitting.cc
  void on(const Submitted& event);
  void on(const SubmitFailed& event);
  void want_lease(const Owner& owner);
  void submit(Lease& lease);
  void submit_unclear(Lease& lease, const Error& error);
  void fail_want(const Owner& owner, WantBook& book, const Error& error);
  void hold_off(WantBook& book, const std::string& reason);
  TimePoint next_start(const Lease& lease);
  void wait_for_start(Lease& lease, TimePoint start);
  // restart.cc
  void on(const JournalRead& event);
  void replay(const JournalRecord& line);
  void replay_intent(const JournalRecord& line);
  // sweeping.cc
  void on(const Swept& event);
  void sweep_found(const JobView& view);
  void sweep_missed(Lease& lease);
  Lease& adopt(const JobView& view);
  bool doubt() const;
  // polling.cc
  void on(const Polled& event);
  Lease* polled_lease(const JobView& view);
  void job_seen(Lease& lease, const JobView& view);
  bool identify(Lease& lease, const JobView& view);
  bool requeued(Lease& lease, const Incarnation& next);
  void job_news(Lease& lease, const JobView& view);
  void job_runs(Lease& lease, const std::string& why);
  void job_ends(Lease& lease, const JobView& view);
  void job_over(Lease& lease, const JobView& view);
  Error reason_of_end(Lease& lease, const JobView& view);
  bool to_poll(const Lease& lease) const;
  void poll_soon(Duration wait);
  void reached(bool ok, const std::string& what);
  // workers.cc
  void on(const WorkerConnected& event);
  void on(const InterpreterStarted& event);
  void on(const InterpreterDied& event);
  void on(const WorkerHeard& event);
  void on(const WorkerLost& event);
  Lease& take_on_trust(const LeaseId& id);
  bool right_job(Lease& lease, const WorkerConnected& event);
  void link_worker(Lease& lease, const WorkerConnected& event);
  struct Heard {
    Lease* lease = nullptr;  // null: ignored
    Worker* worker = nullptr;
  };
  Heard hear(const LeaseId& lease, WorkerIndex index, WorkerLink link, News news);
  void worker_spent(Lease& lease, Worker& worker, const Error& error);
  void introduce(const Lease& lease);
  void introduce(const Lease& lease, WorkerIndex index);
  // ending.cc
  void on(const CancelDone& event);
  void give_back(Lease& lease, Error why, bool only_if_idle = false);
  void drain(Lease& lease, bool only_if_idle);
  void send_away(const Lease& lease, const std::string& why, bool only_if_idle);
  void cancel(Lease& lease);
  void give_up(Lease& lease);
  void end_job(Lease& lease);
  void send_cancel(Lease& lease);
  void send_excess(const Incarnation& job, const std::string& what);
  void finish(Lease& lease, Error why);
  void detach(Lease& lease, const Error& why);
  void count_bad_start(Lease& lease, const Error& why, bool give_up = false);
  // warmth.cc
  void on(const QueueSeen& event);
  bool unneeded(const Lease& lease) const;
  Duration kept() const;
  bool warm(const Lease& lease) const;
  std::vector<Lease*> warm_leases();
  void yield(SlurmJobId job);
  void settle_look();
  // releasing.cc
  void on(const ReleaseAsked& event);
  void release_now(Lease& lease, const Error& why);
  // timing.cc
  void on(const TimesChanged& event);
  void on(const TimePassed& event);
  void excuse_silence(Duration late);
  void settle();
  bool due(TimePoint when);  // true: now or past; else remembered as a deadline
  void settle_sessions();
  void settle_lease(Lease& lease);
  void settle_wanted(Lease& lease);
  void settle_serving(Lease& lease);
  bool worker_lost(const Lease& lease);
  std::optional<Error> deadline_passed(const Lease& lease);
  void note_silence(Lease& lease);
  void settle_wants();
  void settle_poll();
  void settle_sweep();
  void settle_daemon();
  TimePoint sweep_time() const;
  // invariants.cc
  std::optional<std::string> broken_by_itself(const Lease& lease) const;
  // lease_core.cc
  bool accept(Lease& lease, News news);  // false: the table ignores it
  void enter(Lease& lease, LeaseState state, const std::string& why);
  void refresh(Lease& lease);  // idle or busy, by what is known now
  void tell(const Lease& lease);
  std::string reason_of(const Lease& lease) const;
  void record(const Lease& lease, JournalRecord::Kind kind, const std::string& reason = {});
  Lease* find(const LeaseId& id);
  Lease* lease_of(const Owner& owner);
  WantBook* want_of(const Lease& lease);
  const WantBook* want_of(const Lease& lease) const;
  bool needed(const Lease& lease) const;  // its want has demand, or has not been heard yet after a restart
  void ignore(const std::string& what);
  template <class T>
  void act(T action) {
    actions_.emplace_back(std::move(action));
    changed_ = true;
  }

  const InstanceId instance_;
  Defaults defaults_;
  const std::function<LeaseId()> fresh_lease_;

  std::map<LeaseId, Lease> leases_;
  std::deque<LeaseId> ended_;  // oldest first; kept for their stories and to know late jobs again
  std::map<SessionId, Session> sessions_;
  std::deque<SessionId> closed_;  // said goodbye: a late demand does not bring them back

  // the batch system
  bool journal_read_ = false, reconciled_ = false;
  bool sweep_under_way_ = false, poll_under_way_ = false;
  std::uint64_t sweeps_begun_ = 0;
  std::uint32_t sweeps_after_doubt_ = 0;
  TimePoint swept_at_{};
  Duration sweep_wait_{};  // after a failed sweep
  TimePoint poll_at_ = TimePoint::max();
  Duration poll_wait_{};
  TimePoint look_begun_{}, look_at_{};
  Duration look_wait_{};
  int looks_failed_ = 0;                         // in a row
  bool look_under_way_ = false, blind_ = false;  // blind: nobody is shown the jobs of others
  std::deque<TimePoint> starts_;                 // submissions of the last hour, where they are counted
  std::optional<TimePoint> unreachable_since_;
  std::string unreachable_why_;
  TimePoint reached_since_{};  // after it did not answer

  std::optional<TimePoint> idle_since_;  // without leases and sessions
  bool end_told_ = false;

  // this call's
  TimePoint now_{};
  std::vector<Action> actions_;
  bool changed_ = false;
  TimePoint deadline_ = TimePoint::max();
  const Cell* cell_ = nullptr;  // the table's answer to the news at hand
  LeaseId cell_lease_;
  std::string breach_;          // the first transition that the table does not allow
  std::string last_ignored_;    // for a debugger
  Counters counters_;
};

}  // namespace pounce::lease
