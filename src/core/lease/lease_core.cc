#include "core/lease/lease_core.h"

#include <utility>

#include "base/check.h"
#include "core/lease/invariants.h"
#include "core/lease/rules.h"

namespace pounce::lease {
namespace {
constexpr int kMaxRounds = 64;
constexpr std::chrono::seconds kStopped{5};
}  // namespace

LeaseCore::LeaseCore(InstanceId instance, Defaults defaults, std::function<LeaseId()> fresh_lease)
    : rules_(std::make_unique<Rules>(instance, defaults, std::move(fresh_lease))) {}
LeaseCore::LeaseCore(LeaseCore&&) noexcept = default;
LeaseCore::~LeaseCore() = default;

std::vector<Action> LeaseCore::handle(const Event& event, TimePoint now) {
  Context& context = rules_->context;
  context.begin(now);
  if (context.deadline() < context.now()) excuse_silence(context.now() - context.deadline());
  rules_->hear(event);
  settle();
#ifndef NDEBUG
  check_invariants();
#endif
  return context.take_actions();
}

// A deadline that comes so late means that this process was stopped: nobody could be heard meanwhile.
void LeaseCore::excuse_silence(Duration late) {
  if (late < kStopped) return;
  rules_->context.sessions.excuse_silence(late);
  for (auto& [id, lease] : rules_->context.leases) {
    if (!lease.workers.empty()) lease.last_seen += late;
    for (auto& [index, worker] : lease.workers) worker.clients_since += late;
  }
}

// After each event every rule looks at its deadlines: what is due happens now, the nearest that is not becomes
// next_deadline(). So there is one list of deadlines, not one for asking and one for acting.
void LeaseCore::settle() {
  Context& context = rules_->context;
  for (int round = 0;; ++round) {
    POUNCE_CHECK(round < kMaxRounds, "the lease core does not come to rest");
    context.begin_round();
    rules_->settle();
    if (!context.changed()) break;
  }
  context.leases.forget_oldest();
}

TimePoint LeaseCore::next_deadline() const { return rules_->context.deadline(); }
const Counters& LeaseCore::counters() const { return rules_->context.counters(); }
bool LeaseCore::has_session(const SessionId& session) const { return rules_->context.sessions.here(session); }
std::size_t LeaseCore::session_count() const { return rules_->context.sessions.size(); }

bool LeaseCore::speaks_for(const LeaseId& id, WorkerIndex index, WorkerLink link) const {
  const Lease* lease = rules_->context.leases.find(id);
  if (lease == nullptr) return false;
  const auto worker = lease->workers.find(index);
  return worker != lease->workers.end() && worker->second.link == link;
}

bool LeaseCore::reconciled() const { return rules_->context.reconciliation.done_once(); }

std::vector<LeaseView> LeaseCore::leases() const {
  std::vector<LeaseView> views;
  for (const auto& [id, lease] : rules_->context.leases)
    if (!lease.over()) views.push_back(rules_->notices.view_of(lease));
  return views;
}

std::vector<HistoryLine> LeaseCore::history(const LeaseId& id) const {
  const Lease* lease = rules_->context.leases.find(id);
  if (lease == nullptr) return {};
  return {lease->history.lines().begin(), lease->history.lines().end()};
}

std::vector<LeaseId> LeaseCore::ended_leases() const {
  const auto& ended = rules_->context.leases.ended();
  return {ended.begin(), ended.end()};
}

std::optional<std::string> LeaseCore::broken_invariant() const {
  return lease::broken_invariant(rules_->context, rules_->idle, rules_->transitions);
}

void LeaseCore::check_invariants() const {
  const auto broken = broken_invariant();
  POUNCE_CHECK(!broken, broken ? broken->c_str() : "");
}

}  // namespace pounce::lease
