// The rules of the lease core: free functions over one state, in the order in which a lease lives. on(core, event)
// hears an event. settle_…(core) looks at a subject's deadlines: what is due happens now, and the nearest time that is
// not becomes the core's deadline. Only this folder's sources and their tests include this. Thread: loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/lease/lease_core.h"

namespace pounce::lease {

// Whether Slurm answers. While it does not, nothing is submitted and no silent worker is given up.
struct SlurmReach {
  bool lost = false;
  Cause why;
  TimePoint back_since{};  // after it did not answer
};

// When Slurm is asked about the jobs that are on their way in or out, or whose worker is silent.
struct Polling {
  bool under_way = false;
  TimePoint at = TimePoint::max();
  Duration wait{};  // widens from one poll to the next
  TimePoint closely_until{};
};

// When Slurm is asked for every job that carries this instance's tag.
struct Reconciliation {
  bool journal_read = false, done_once = false, under_way = false;
  std::uint64_t begun = 0;          // a lease remembers the number at which its doubt began
  std::uint32_t rounds_needed = 0;  // so many more after a doubt, each with nothing left in doubt
  TimePoint answered_at{};
  Duration wait{};  // after one that failed
};

// When the queue is looked at for jobs that wait for what idle leases hold.
struct QueueLook {
  TimePoint begun{}, at{};
  Duration wait{};
  int failed = 0;                         // in a row
  bool under_way = false, blind = false;  // blind: Slurm hides the jobs of other users
};

// All that the core knows, and the event at hand.
struct Core {
  Core(InstanceId which, Defaults defaults, std::function<LeaseId()> new_lease_id)
      : instance(which), times(defaults), fresh_lease(std::move(new_lease_id)) {}

  const InstanceId instance;
  Defaults times;
  const std::function<LeaseId()> fresh_lease;

  std::map<LeaseId, Lease> leases;  // also those that ended of late, for their histories and to know late jobs again
  std::deque<LeaseId> ended;        // oldest first
  std::map<SessionId, Session> sessions;
  std::deque<SessionId> closed;  // a late demand does not bring them back
  SlurmReach slurm;
  Polling polling;
  Reconciliation reconciliation;
  QueueLook look;
  std::deque<TimePoint> starts;           // submissions of the last hour, where the site limits them
  std::optional<TimePoint> unused_since;  // no lease and no session
  bool end_ordered = false;               // the daemon was told to end
  std::string breach;                     // the first transition against the table: a bug
  const Cell* answer = nullptr;           // the table's, to the trigger at hand of `answer_for`
  LeaseId answer_for;

  // The event at hand. A rule that changes what another rule may look at says so; then all rules look once more.
  TimePoint now{};
  TimePoint deadline = TimePoint::max();
  std::vector<Action> actions;
  bool changed = false;
  Counters counters;

  void begin(TimePoint when);
  void begin_round();
  template <class T>
  void act(T action) {
    actions.emplace_back(std::move(action));
    changed = true;
  }
  bool due(TimePoint when);  // true: now or past; else remembered as a deadline
  void ignore() { ++counters.ignored; }
};

// ---- leases and sessions (lease_core.cc) --------------------------------------------------------------------------

Lease* find_lease(Core& core, const LeaseId& id);
const Lease* find_lease(const Core& core, const LeaseId& id);
Lease* lease_of(Core& core, const Owner& owner);
// The lease whose job that is: by the tag where the view has one, since a job id alone may be another job's by now.
Lease* lease_of_job(Core& core, const JobView& view);
Lease& add_lease(Core& core, Lease lease);  // the one that is there, where its id is known

Session* find_session(Core& core, const SessionId& id);
Session& open_session(Core& core, const SessionId& id);  // also one that said goodbye
void close_session(Core& core, const SessionId& id);     // it says goodbye; it is still here until it is forgotten
bool has_closed(const Core& core, const SessionId& id);
// The request that the lease serves; null: none, or its session has not said yet what it wants.
RequestState* request_of(Core& core, const Lease& lease);
const RequestState* request_of(const Core& core, const Lease& lease);
// Its request has demand, or its session has not been heard yet after a restart.
bool needed(const Core& core, const Lease& lease);
// Its owner, and each session that holds it though another owns it (it came back later, after a restart of pounced).
std::vector<Owner> concerned(const Core& core, const Lease& lease);
void holds_no_more(Core& core, const Owner& holder, const LeaseId& lease);  // it was told of the end

void hear(Core& core, const Event& event);
void settle(Core& core);  // every deadline once

// ---- from one state to another (transition_table.cc) --------------------------------------------------------------

// The table decides whether a lease hears a trigger. false: it is ignored.
bool accept(Core& core, Lease& lease, Trigger trigger);
// The only way from one state to another; its owner is told.
void enter(Core& core, Lease& lease, LeaseState state, const Cause& why);
inline void enter(Core& core, Lease& lease, LeaseState state, CauseCode why) { enter(core, lease, state, Cause{why}); }
void refresh(Core& core, Lease& lease);  // idle or busy, by what is known now

// The first invariant that is broken (docs/states.md, Invariants), or nothing.
std::optional<std::string> broken_invariant(const Core& core);

// ---- what sessions want (demand.cc) -------------------------------------------------------------------------------

void on(Core& core, const SessionOpened& event);
void on(Core& core, const SessionSeen& event);
void on(Core& core, const SessionClosed& event);
void on(Core& core, const DemandChanged& event);
void settle_sessions(Core& core);  // the silent ones are gone
void settle_demand(Core& core);    // a new lease for each request that waits and has none

void answer_all_holds(Core& core);  // after the first reconciliation: before it no end is certain
void offer_spares(Core& core);      // after an adoption: requests that came before it may be served by it
// A job with `have` can serve a request for `request`; what the request does not say may be anything.
bool covers(const Resources& have, const Resources& request);

// ---- from a request to a job (submission.cc) ----------------------------------------------------------------------

void on(Core& core, const Submitted& event);
void on(Core& core, const SubmitFailed& event);
void settle_submission(Core& core, Lease& lease);  // of a requested lease

void fail(Core& core, const Owner& owner, RequestState& record, const Error& error);  // until its demand changes
void fail(Core& core, const Lease& lease, const Error& error);                        // the request that it serves
void hold_off(Core& core, RequestState& record, const Error& error);                  // longer each time
void no_replacement(Core& core, RequestState& record, CauseCode why);                 // until new calls come
// A lease that never got an interpreter up says something about the request or the site: it is not tried for ever.
void count_bad_start(Core& core, const Lease& lease, const Error& why, bool give_up = false);
// When the next lease may start that has `before` others before it in line; not later than now: at once.
TimePoint next_start(Core& core, std::size_t before);

// ---- what Slurm says of a job (job.cc) ----------------------------------------------------------------------------

void on(Core& core, const Polled& event);
void settle_polling(Core& core);  // orders the poll when it is due; one at a time, for all jobs

void poll_soon(Core& core, Duration wait);  // something has changed: poll then, and often at first
void poll_closely(Core& core);              // a worker's connection is gone: poll now, and again and again for a while
bool poll_answered(Core& core);             // false: no poll was under way
void job_seen(Core& core, Lease& lease, const JobView& view);
// Its job has a higher restart count. false: what ran is lost, and the lease ends.
bool job_requeued(Core& core, Lease& lease, const JobIdentity& next);

// ---- what is true (reconciliation.cc) -----------------------------------------------------------------------------

void on(Core& core, const JournalRead& event);
void on(Core& core, const ReconcileDone& event);
void settle_reconciliation(Core& core);  // orders it when it is due; one at a time

bool read_journal(Core& core);  // false: it was read before. The first reconciliation follows at once
void doubt(Core& core, std::uint32_t rounds = 2);
bool reconciliation_answered(Core& core, bool reached);  // false: none was under way
// A lease that is not known, on a worker's or Slurm's word: in doubt until the next reconciliation says what it is.
Lease& take_on_trust(Core& core, const LeaseId& id);
// Slurm answered, or did not. true: the opposite of before.
bool note_reach(Core& core, bool reached, const Cause& why);

// ---- workers (worker.cc) ------------------------------------------------------------------------------------------

void on(Core& core, const WorkerConnected& event);
void on(Core& core, const InterpreterStarted& event);
void on(Core& core, const InterpreterDied& event);
void on(Core& core, const WorkerSeen& event);
void on(Core& core, const WorkerLost& event);

// ---- idle leases (idle_reuse.cc) ----------------------------------------------------------------------------------

void settle_steps(Core& core);
void settle_look(Core& core);  // orders a look at the queue when it is due

bool unneeded(const Core& core, const Lease& lease);  // it serves, or starts, and nothing waits for it or runs on it
Duration kept(const Core& core);                      // how long such a lease is kept in all
bool reusable(const Core& core, const Lease& lease);  // kept while no job waits for what it holds
// Leases that have to go because others wait, in that order; loops that have to be left are told.
std::vector<Lease*> wanted_by_others(Core& core, const QueueSnapshotTaken& event);

// Which leases of ours would help the jobs that wait.
// Whether that job may run there at all, whatever is free: partition, nodes named or excluded, features.
bool may_run_on(const RoomAsked& wish, const NodeRoom& node);
// Slurm's expression of features, "a&b|c", "[r1|r2]", "a*2": one alternative must be there whole.
bool has_features(std::string_view expression, const std::vector<std::string>& features);
// The fewest of `warm` (the first are given back first) with which the waiting jobs get room on their nodes, beside
// what is free there and what `leaving` will set free. A job that waits for more than all of that together gets
// nothing.
std::vector<SlurmJobId> to_reclaim(const QueueSnapshot& look, const std::vector<SlurmJobId>& warm,
                                   const std::vector<SlurmJobId>& leaving);

// ---- the way out (release.cc) -------------------------------------------------------------------------------------

void on(Core& core, const QueueSnapshotTaken& event);
void on(Core& core, const ReleaseAsked& event);
void on(Core& core, const CancelDone& event);
void settle_deadlines(Core& core, Lease& lease);  // of a queued, starting, idle or busy lease
void settle_end(Core& core, Lease& lease);        // of a draining or ending one
void settle_daemon(Core& core);                   // the daemon may end

// Whatever its state is. only_if_idle: a worker that has just got a task stays.
void give_back(Core& core, Lease& lease, Error why, bool only_if_idle = false);
void cancel(Core& core, Lease& lease);             // lease.end says why
void finish(Core& core, Lease& lease, Error why);  // no job is left
void detach(Core& core, Lease& lease, const Error& why);
void end_workers(Core& core, const Lease& lease, const Cause& why, bool only_if_idle);
void cancel_excess(Core& core, const JobIdentity& job);  // a job that no lease has

// ---- what others see (view.cc) ------------------------------------------------------------------------------------

void tell_owner(Core& core, const Lease& lease);
// Slurm answered, or did not. Only the change is told; every pending lease's owner hears it.
void tell_of_slurm(Core& core, const Result<std::vector<JobView>>& jobs);
// Owner and workers learn of each other.
void introduce(Core& core, const Lease& lease);
void introduce(Core& core, const Lease& lease, WorkerIndex index);
LeaseView view_of(const Core& core, const Lease& lease);
// What the journal is told of a lease. why: it ended.
JournalRecord journal_line(const Lease& lease, JournalRecord::Kind kind, const Cause& why = {});
// An error of something on a lease, for its owner: which lease it was, and which job.
Error with_evidence(const Lease& lease, Error error);

}  // namespace pounce::lease
