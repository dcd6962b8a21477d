// The loop of the core: an event is heard by its rule, then all rules look at their deadlines until nothing changes any
// more. Here too: the look-ups of leases and sessions.
#include "core/lease/lease_core.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/lease/rules.h"

namespace pounce::lease {
namespace {

constexpr int kMaxRounds = 64;
constexpr std::size_t kEndedKept = 256, kClosedKept = 256;
constexpr std::chrono::seconds kStopped{5};

// A deadline that comes so late means that this process was stopped, and heard no session and no worker meanwhile.
void excuse_silence(Core& core, Duration late) {
  if (late < kStopped) return;
  for (auto& [id, session] : core.sessions) session.last_seen += late;
  for (auto& [id, lease] : core.leases) {
    if (!lease.workers.empty()) lease.last_seen += late;
    for (auto& [index, worker] : lease.workers) worker.clients_since += late;
  }
}

void forget_oldest(Core& core) {
  while (core.ended.size() > kEndedKept) {
    core.leases.erase(core.ended.front());
    core.ended.pop_front();
  }
}

// After each event every rule looks at its deadlines: what is due happens now, the nearest that is not becomes
// next_deadline(). So there is one list of deadlines, not one for waiting and one for acting.
void settle_until_nothing_changes(Core& core) {
  for (int round = 0;; ++round) {
    POUNCE_CHECK(round < kMaxRounds, "the lease core does not come to rest");
    core.begin_round();
    settle(core);
    if (!core.changed) break;
  }
  forget_oldest(core);
}

}  // namespace

// ---- the core as its daemon sees it -------------------------------------------------------------------------------

LeaseCore::LeaseCore(InstanceId instance, Defaults defaults, std::function<LeaseId()> fresh_lease)
    : core_(std::make_unique<Core>(instance, defaults, std::move(fresh_lease))) {}
LeaseCore::LeaseCore(LeaseCore&&) noexcept = default;
LeaseCore::~LeaseCore() = default;

std::vector<Action> LeaseCore::handle(const Event& event, TimePoint now) {
  core_->begin(now);
  if (core_->deadline < core_->now) excuse_silence(*core_, core_->now - core_->deadline);
  hear(*core_, event);
  settle_until_nothing_changes(*core_);
#ifndef NDEBUG
  check_invariants();
#endif
  return std::exchange(core_->actions, {});
}

TimePoint LeaseCore::next_deadline() const { return core_->deadline; }
const Counters& LeaseCore::counters() const { return core_->counters; }
bool LeaseCore::reconciled() const { return core_->reconciliation.done_once; }
bool LeaseCore::has_session(const SessionId& session) const { return core_->sessions.contains(session); }
std::size_t LeaseCore::session_count() const { return core_->sessions.size(); }
std::vector<LeaseId> LeaseCore::ended_leases() const { return {core_->ended.begin(), core_->ended.end()}; }

bool LeaseCore::speaks_for(const LeaseId& id, WorkerIndex index, WorkerLink link) const {
  const Lease* lease = find_lease(std::as_const(*core_), id);
  if (lease == nullptr) return false;
  const auto worker = lease->workers.find(index);
  return worker != lease->workers.end() && worker->second.link == link;
}

std::vector<LeaseView> LeaseCore::leases() const {
  std::vector<LeaseView> views;
  for (const auto& [id, lease] : core_->leases)
    if (!lease.over()) views.push_back(view_of(*core_, lease));
  return views;
}

std::vector<HistoryLine> LeaseCore::history(const LeaseId& id) const {
  const Lease* lease = find_lease(std::as_const(*core_), id);
  if (lease == nullptr) return {};
  return {lease->history.lines().begin(), lease->history.lines().end()};
}

std::optional<std::string> LeaseCore::broken_invariant() const { return lease::broken_invariant(*core_); }

void LeaseCore::check_invariants() const {
  const auto broken = broken_invariant();
  POUNCE_CHECK(!broken, broken ? broken->c_str() : "");
}

// ---- the event at hand --------------------------------------------------------------------------------------------

void Core::begin(TimePoint when) {
  now = std::max(now, when);  // a clock that goes back changes nothing
  actions.clear();
  ++counters.events;
}

void Core::begin_round() {
  changed = false;
  deadline = TimePoint::max();
}

bool Core::due(TimePoint when) {
  if (when <= now) return true;
  deadline = std::min(deadline, when);
  return false;
}

namespace {
void on(Core& core, const TimesChanged& event) { core.times = event.times; }
void on(Core&, const TimePassed&) {}  // the rules look at the time after every event
}  // namespace

void hear(Core& core, const Event& event) {
  std::visit([&core](const auto& what) { on(core, what); }, event);
}

namespace {

void settle_lease(Core& core, Lease& lease) {
  switch (lease.state) {
    case LeaseState::kRequested:
      return settle_submission(core, lease);
    case LeaseState::kQueued:
    case LeaseState::kStarting:
    case LeaseState::kIdle:
    case LeaseState::kBusy:
      return settle_deadlines(core, lease);
    case LeaseState::kDraining:
    case LeaseState::kEnding:
      return settle_end(core, lease);
    case LeaseState::kSubmitting:
    case LeaseState::kEnded:
      return;
  }
}

}  // namespace

void settle(Core& core) {
  settle_sessions(core);
  for (auto& [id, lease] : core.leases) settle_lease(core, lease);
  settle_demand(core);
  settle_polling(core);
  settle_steps(core);
  settle_look(core);
  settle_reconciliation(core);
  settle_daemon(core);
}

// ---- the leases ---------------------------------------------------------------------------------------------------

const Lease* find_lease(const Core& core, const LeaseId& id) {
  const auto entry = core.leases.find(id);
  return entry == core.leases.end() ? nullptr : &entry->second;
}

Lease* find_lease(Core& core, const LeaseId& id) { return const_cast<Lease*>(find_lease(std::as_const(core), id)); }

Lease* lease_of(Core& core, const Owner& owner) {
  for (auto& [id, lease] : core.leases)
    if (lease.owner == owner) return &lease;
  return nullptr;
}

Lease* lease_of_job(Core& core, const JobView& view) {
  for (auto& [id, lease] : core.leases) {
    if (lease.over() || !lease.journalled || !lease.job || lease.job->job != view.job_identity.job) continue;
    if (view.lease && *view.lease != id) continue;
    // Without a tag in the view a recycled job id must not pass for ours.
    if (!view.lease && lease.job->submit_time_s != 0 && lease.job->submit_time_s != view.job_identity.submit_time_s)
      continue;
    return &lease;
  }
  return nullptr;
}

Lease& add_lease(Core& core, Lease lease) {
  const LeaseId id = lease.id;
  return core.leases.emplace(id, std::move(lease)).first->second;
}

// ---- the sessions -------------------------------------------------------------------------------------------------

Session* find_session(Core& core, const SessionId& id) {
  const auto entry = core.sessions.find(id);
  return entry == core.sessions.end() ? nullptr : &entry->second;
}

Session& open_session(Core& core, const SessionId& id) {
  std::erase(core.closed, id);
  return core.sessions[id];
}

void close_session(Core& core, const SessionId& id) {
  core.closed.push_back(id);
  if (core.closed.size() > kClosedKept) core.closed.pop_front();
}

bool has_closed(const Core& core, const SessionId& id) {
  return std::ranges::find(core.closed, id) != core.closed.end();
}

const RequestState* request_of(const Core& core, const Lease& lease) {
  if (!lease.owner) return nullptr;
  const auto session = core.sessions.find(lease.owner->session);
  if (session == core.sessions.end()) return nullptr;
  const auto request = session->second.requests.find(lease.owner->request);
  return request == session->second.requests.end() ? nullptr : &request->second;
}

RequestState* request_of(Core& core, const Lease& lease) {
  return const_cast<RequestState*>(request_of(std::as_const(core), lease));
}

bool needed(const Core& core, const Lease& lease) {
  if (!lease.owner) return false;
  const auto session = core.sessions.find(lease.owner->session);
  if (session == core.sessions.end()) return false;
  if (session->second.awaited_until) return true;
  const RequestState* record = request_of(core, lease);
  return record != nullptr && record->demanded();
}

std::vector<Owner> concerned(const Core& core, const Lease& lease) {
  std::vector<Owner> all;
  if (lease.owner) all.push_back(*lease.owner);
  for (const auto& [session, record] : core.sessions)
    for (const auto& [request, entry] : record.requests) {
      const Owner holder{session, request};
      if (lease.owner != holder && std::ranges::count(entry.request.holds, lease.id) > 0) all.push_back(holder);
    }
  return all;
}

void holds_no_more(Core& core, const Owner& holder, const LeaseId& lease) {
  Session* session = find_session(core, holder.session);
  if (session == nullptr) return;
  if (const auto request = session->requests.find(holder.request); request != session->requests.end())
    std::erase(request->second.request.holds, lease);
}

}  // namespace pounce::lease
