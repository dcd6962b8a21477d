#include "core/lease/demand.h"

#include <map>

#include "core/lease/job_end.h"

namespace pounce::lease {
namespace {

void forget_hold_off(RequestState& record) {
  record.not_before = {};
  record.on_purpose = false;
  record.wait_reason = {};
}

// Whatever stood in the way belonged to the tasks that are gone.
void forget_trouble(RequestState& record) {
  forget_hold_off(record);
  record.failed.reset();
  record.backoff = {};
  record.bad_starts = 0;
}

// A repeated message, or tasks that have not yet heard of their failure.
bool same_counts_as_failed(const RequestState& record) {
  return record.request.waiting == record.failed_waiting && record.request.running == record.failed_running;
}

}  // namespace

void Demand::on(const DemandChanged& event) {
  if (context_.sessions.said_goodbye(event.session)) return context_.ignore("a demand of a closed session");
  Session& session = context_.sessions.at(event.session);
  session.last_seen = context_.now();
  session.awaited_until.reset();
  std::map<RequestId, Request> requests;
  for (const Request& request : event.requests) requests[request.id] = request;
  for (const auto& [id, old] : session.requests)
    if (!requests.contains(id)) requests[id] = Request{id, old.request.resources, 0, 0, {}};
  for (const auto& [id, lease] : context_.leases)
    if (lease.owner && lease.owner->session == event.session && !requests.contains(lease.owner->request))
      requests[lease.owner->request] = Request{lease.owner->request, lease.resources, 0, 0, {}};
  for (const auto& [id, request] : requests) take(event.session, session.requests[id], request);
}

void Demand::take(const SessionId& session, RequestState& record, const Request& request) {
  const Owner owner{session, request.id};
  const bool was_demanded = record.demanded();
  const bool new_calls = request.generation > record.request.generation;
  record.request = request;
  if (!record.demanded()) forget_trouble(record);
  if (new_calls && record.on_purpose) forget_hold_off(record);
  if (record.failed) {
    if (!new_calls && same_counts_as_failed(record)) return context_.act(TellRequestFailed{session, request.id, *record.failed});
    record.failed.reset();
  }
  answer_holds(owner, request);
  Lease* lease = serving(owner, request);
  if (lease == nullptr) return;
  if (was_demanded || record.demanded()) lease->last_busy = context_.now();
  news(*lease, record.demanded());
}

// Whoever holds a lease that has ended did not hear of its end (it was told while the connection was broken). One that is
// another's, and on which its holder was dismissed, has ended for that holder.
void Demand::answer_holds(const Owner& owner, const Request& request) {
  if (!context_.reconciliation.done_once()) return;  // it may yet be adopted
  for (const LeaseId& id : request.holds) {
    const Lease* held = context_.leases.find(id);
    // One on its way out that has nobody told its holder already, perhaps while the holder could not hear.
    const bool is_told = held != nullptr && !held->owner && held->end && held->state >= LeaseState::kDraining;
    const bool let_go = held != nullptr && held->owner && held->let_go.contains(owner.session);
    if (held != nullptr && !held->over() && !is_told && !let_go) continue;
    const Cause why{let_go ? CauseCode::kSessionSilent : CauseCode::kEndedUnseen};
    const Error unknown = error_of(ErrorCode::kLeaseEnded, why, {{"lease", id.hex()}});
    context_.act(TellLeaseEnded{owner.session, owner.request, id, held != nullptr && held->end ? *held->end : unknown});
    context_.sessions.holds_no_more(owner, id);
  }
}

void Demand::answer_all_holds() {
  for (const auto& [session, record] : context_.sessions)
    for (const auto& [id, entry] : record.requests) answer_holds({session, id}, Request(entry.request));
}

// Its own lease, where that can serve what is wanted now; else one that nobody claims; null: none yet.
Lease* Demand::serving(const Owner& owner, const Request& request) {
  Lease* lease = context_.leases.of(owner);
  if (lease != nullptr && lease->resources != request.resources) {
    if (lease->resources.of_one_lease() == request.resources.of_one_lease()) {
      lease->resources = request.resources;  // its pool has another size now
    } else if (transitions_.accept(*lease, News::kOwnerGone)) {
      ending_.give_back(*lease, error_of(ErrorCode::kLeaseEnded, CauseCode::kOtherResources));
      lease = nullptr;
    }
  }
  return lease == nullptr || lease->state == LeaseState::kRequested ? take_over(owner, request, lease) : lease;
}

Lease* Demand::take_over(const Owner& owner, const Request& request, Lease* wanted) {
  Lease* taken = held_by(request);
  if (taken == nullptr && request.waiting > 0) taken = spare_for(request.resources);
  if (taken == nullptr) return wanted;
  if (wanted != nullptr && transitions_.accept(*wanted, News::kDemandGone)) {
    wanted->owner.reset();
    ending_.finish(*wanted, error_of(ErrorCode::kLeaseEnded, CauseCode::kAnotherServes));
  }
  taken->owner = owner;
  taken->let_go.erase(owner.session);
  taken->resources = request.resources;
  taken->last_busy = context_.now();
  taken->history.add(context_.now(), {.code = CauseCode::kClaimed, .word = owner.session.hex()});
  if (taken->journalled) context_.act(RecordOutcome{journal_line(*taken, JournalRecord::Kind::kIntent)});
  notices_.tell(*taken);
  notices_.introduce(*taken);
  return taken;
}

Lease* Demand::held_by(const Request& request) {
  for (const LeaseId& id : request.holds)
    if (Lease* lease = context_.leases.find(id); lease != nullptr && lease->claimable()) return lease;
  return nullptr;
}

Lease* Demand::spare_for(const Resources& resources) {
  Lease* best = nullptr;
  for (auto& [id, lease] : context_.leases) {
    const bool calm = lease.state == LeaseState::kQueued || lease.state == LeaseState::kStarting ||
                      lease.state == LeaseState::kIdle;
    if (!calm || !lease.claimable() || !lease.free() || !covers(lease.resources, resources)) continue;
    if (best == nullptr || best->state < lease.state) best = &lease;  // the further on, the better
  }
  return best;
}

// Holders first.
void Demand::offer_spares() {
  for (const bool only_held : {true, false}) {
    for (auto& [session, record] : context_.sessions) {
      for (auto& [id, entry] : record.requests) {
        const Owner owner{session, id};
        Lease* lease = context_.leases.of(owner);
        if (!entry.demanded() || entry.failed || (lease != nullptr && lease->state != LeaseState::kRequested)) continue;
        if (only_held && held_by(entry.request) == nullptr) continue;
        lease = take_over(owner, entry.request, lease);
        if (lease != nullptr) news(*lease, true);
      }
    }
  }
}

void Demand::news(Lease& lease, bool demanded) {
  if (transitions_.accept(lease, demanded ? News::kDemandCame : News::kDemandGone)) transitions_.refresh(lease);
}

void Demand::settle() {
  if (!context_.reconciliation.journal_read()) return;
  for (auto& [session, record] : context_.sessions) {
    for (auto& [id, entry] : record.requests) {
      const Owner owner{session, id};
      if (entry.request.waiting > 0 && !entry.failed && context_.leases.of(owner) == nullptr) request_lease(owner, entry.request.resources);
    }
  }
}

void Demand::request_lease(const Owner& owner, const Resources& resources) {
  Lease lease;
  lease.id = fresh_lease_();
  lease.owner = owner;
  lease.resources = resources;
  lease.born = lease.since = lease.last_busy = context_.now();
  lease.history.add(context_.now(), {.code = CauseCode::kWanted, .word = owner.session.hex()});
  notices_.tell(context_.leases.add(std::move(lease)));
  context_.change();
}

}  // namespace pounce::lease
