// Which sessions are here, what they want, and which lease serves it. A request has at most one lease, and a demand is
// the whole truth of its session each time. A lease that no request owns (after a restart of pounced) goes to the
// request that holds it, else to one that could use it; where there is none a new lease is requested. A session that is
// gone gives its leases back.
#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>

#include "core/lease/rules.h"

namespace pounce::lease {

// ---- sessions -----------------------------------------------------------------------------------------------------

namespace {

void dismiss(Core& core, const Lease& lease, const SessionId& session, CauseCode why) {
  for (const auto& [index, worker] : lease.workers)
    if (worker.linked) core.act(DismissClient{lease.id, worker.link, session, Cause{why}});
}

Error end_for_holder(const Lease* lease, const LeaseId& id, CauseCode why) {
  if (lease == nullptr) return error_of(ErrorCode::kLeaseEnded, Cause{why}, {{"lease", id.hex()}});
  if (lease->over() && lease->end) return *lease->end;
  return with_evidence(*lease, error_of(ErrorCode::kLeaseEnded, why));
}

// The session holds leases that another session owns since pounced started anew, or that ended before it could say so.
// If it is there after all it would never hear of their ends: nothing remembers any more that it holds them.
void let_go_of_holds(Core& core, const SessionId& session, CauseCode why) {
  for (const auto& [request, entry] : core.sessions[session].requests)
    for (const LeaseId& id : entry.request.holds) {
      Lease* lease = find_lease(core, id);
      if (lease != nullptr && lease->owner && lease->owner->session == session) continue;
      if (lease != nullptr && lease->left_by == session) continue;
      core.act(TellLeaseEnded{session, request, id, end_for_holder(lease, id, why)});
      if (lease == nullptr || lease->over()) continue;
      dismiss(core, *lease, session, why);
      lease->let_go.insert(session);
    }
}

// Its task goes on without the session. What remains of that there is dismissed when another session takes the lease.
void leave_behind(Core& core, Lease& lease, CauseCode why) {
  lease.left_by = lease.owner->session;
  lease.owner.reset();
  lease.unclaimed_since = core.now;
  lease.history.add(core.now, why);
}

void forget_session(Core& core, const SessionId& session, CauseCode why) {
  for (auto& [id, lease] : core.leases) {
    if (!lease.owner || lease.owner->session != session) continue;
    if (lease.runs_kept() && !lease.end) {
      leave_behind(core, lease, why);
      continue;
    }
    dismiss(core, lease, session, why);
    if (accept(core, lease, Trigger::kOwnerGone)) give_back(core, lease, error_of(ErrorCode::kLeaseEnded, why));
  }
  let_go_of_holds(core, session, why);
  core.sessions.erase(session);
  core.changed = true;
}

// Only an earlier pounced knew these clients. What such a client left there would run on, and the owner's tasks would
// wait behind it.
void dismiss_clients_that_stayed_away(Core& core, Lease& lease) {
  if (!lease.owner) return;  // the client that left it may still claim it
  for (auto& [index, worker] : lease.workers) {
    if (!worker.linked || worker.clients.empty() || !core.due(worker.clients_since + core.times.orphan_grace)) continue;
    const std::vector<Owner> here = concerned(core, lease);
    for (const SessionId& client : std::exchange(worker.clients, {})) {
      if (std::ranges::count(here, client, &Owner::session) > 0) continue;
      core.act(DismissClient{lease.id, worker.link, client, Cause{CauseCode::kSessionSilent}});
      lease.let_go.insert(client);
    }
  }
}

}  // namespace

void on(Core& core, const SessionOpened& event) {
  Session& session = open_session(core, event.session);
  session.last_seen = core.now;
  session.stays |= event.stays;
  for (const auto& [id, lease] : core.leases) {
    if (!lease.owner || lease.owner->session != event.session) continue;
    tell_owner(core, lease);
    introduce(core, lease);
  }
}

void on(Core& core, const SessionSeen& event) {
  Session* session = find_session(core, event.session);
  if (session == nullptr) return core.ignore();
  session->last_seen = core.now;
}

void on(Core& core, const SessionClosed& event) {
  if (!core.sessions.contains(event.session)) return core.ignore();
  close_session(core, event.session);
  forget_session(core, event.session, CauseCode::kSessionClosed);
}

void settle_sessions(Core& core) {
  std::vector<SessionId> silent;
  for (auto& [id, session] : core.sessions) {
    if (session.awaited_until && core.due(*session.awaited_until)) {
      session.awaited_until.reset();
      core.changed = true;
    }
    if (!session.stays && core.due(session.last_seen + core.times.orphan_grace)) silent.push_back(id);
  }
  for (const SessionId& id : silent) forget_session(core, id, CauseCode::kSessionSilent);
  for (auto& [id, lease] : core.leases) dismiss_clients_that_stayed_away(core, lease);
}

// ---- which lease serves a request ---------------------------------------------------------------------------------

bool covers(const Resources& have, const Resources& request) {
  Resources one = request.of_one_lease();
  if (one.cpus == 1) one.cpus = 0;  // every job has one: Slurm does not tell whether the request named it
  if (have.workers != one.workers || have.gpus != one.gpus) return false;
  bool fits = true;
  for_each_field(one, [&](const auto& field, const auto& wish) {
    const bool says_nothing = wish == std::remove_cvref_t<decltype(wish)>{};
    fits = fits && (says_nothing || field.get(have) == wish);
  });
  return fits;
}

namespace {

Lease* held_by(Core& core, const Request& request) {
  for (const LeaseId& id : request.holds)
    if (Lease* lease = find_lease(core, id); lease != nullptr && lease->claimable()) return lease;
  return nullptr;
}

Lease* spare_for(Core& core, const Resources& resources) {
  Lease* best = nullptr;
  for (auto& [id, lease] : core.leases) {
    const bool calm =
        lease.state == LeaseState::kQueued || lease.state == LeaseState::kStarting || lease.state == LeaseState::kIdle;
    if (!calm || !lease.claimable() || !lease.free() || !covers(lease.resources, resources)) continue;
    if (best == nullptr || best->state < lease.state) best = &lease;  // the further on, the better
  }
  return best;
}

Lease* take_over(Core& core, const Owner& owner, const Request& request, Lease* wanted) {
  Lease* lease = held_by(core, request);
  if (lease == nullptr && request.waiting > 0) lease = spare_for(core, request.resources);
  if (lease == nullptr) return wanted;
  if (wanted != nullptr && accept(core, *wanted, Trigger::kDemandGone)) {
    wanted->owner.reset();
    finish(core, *wanted, error_of(ErrorCode::kLeaseEnded, CauseCode::kAnotherServes));
  }
  if (lease->left_by && *lease->left_by != owner.session) {
    dismiss(core, *lease, *lease->left_by, CauseCode::kSessionClosed);
    lease->let_go.insert(*lease->left_by);
  }
  lease->left_by.reset();
  lease->owner = owner;
  lease->let_go.erase(owner.session);
  lease->resources = request.resources;
  lease->last_busy = core.now;
  lease->history.add(core.now, {.code = CauseCode::kClaimed, .word = owner.session.hex()});
  if (lease->journalled) core.act(RecordOutcome{journal_line(*lease, JournalRecord::Kind::kIntent)});
  tell_owner(core, *lease);
  introduce(core, *lease);
  return lease;
}

// Its own lease, where that can serve what is wanted now; else one that no request owns; null: none yet.
Lease* serving(Core& core, const Owner& owner, const Request& request) {
  Lease* lease = lease_of(core, owner);
  if (lease != nullptr && lease->resources != request.resources) {
    if (lease->resources.of_one_lease() == request.resources.of_one_lease()) {
      lease->resources = request.resources;  // its pool has another size now
    } else if (accept(core, *lease, Trigger::kOwnerGone)) {
      give_back(core, *lease, error_of(ErrorCode::kLeaseEnded, CauseCode::kOtherResources));
      lease = nullptr;
    }
  }
  const bool replaceable = lease == nullptr || lease->state == LeaseState::kRequested;
  return replaceable ? take_over(core, owner, request, lease) : lease;
}

void hear_demand(Core& core, Lease& lease, bool demanded) {
  if (accept(core, lease, demanded ? Trigger::kDemandCame : Trigger::kDemandGone)) refresh(core, lease);
}

void request_lease(Core& core, const Owner& owner, const Resources& resources) {
  Lease lease;
  lease.id = core.fresh_lease();
  lease.owner = owner;
  lease.resources = resources;
  lease.born = lease.since = lease.last_busy = core.now;
  lease.history.add(core.now, {.code = CauseCode::kWanted, .word = owner.session.hex()});
  tell_owner(core, add_lease(core, std::move(lease)));
  core.changed = true;
}

}  // namespace

// Sessions that hold the leases come first.
void offer_spares(Core& core) {
  for (const bool only_held : {true, false}) {
    for (auto& [session, record] : core.sessions) {
      for (auto& [id, entry] : record.requests) {
        const Owner owner{session, id};
        Lease* lease = lease_of(core, owner);
        if (!entry.demanded() || entry.failed || (lease != nullptr && lease->state != LeaseState::kRequested)) continue;
        if (only_held && held_by(core, entry.request) == nullptr) continue;
        lease = take_over(core, owner, entry.request, lease);
        if (lease != nullptr) hear_demand(core, *lease, true);
      }
    }
  }
}

void settle_demand(Core& core) {
  if (!core.reconciliation.journal_read) return;
  for (auto& [session, record] : core.sessions) {
    for (auto& [id, entry] : record.requests) {
      const Owner owner{session, id};
      if (entry.request.waiting > 0 && !entry.failed && lease_of(core, owner) == nullptr)
        request_lease(core, owner, entry.request.resources);
    }
  }
}

// ---- a session's demand -------------------------------------------------------------------------------------------

namespace {

void forget_hold_off(RequestState& record) {
  record.not_before = {};
  record.on_purpose = false;
  record.wait_reason = {};
}

// What stood in the way belonged to the tasks that are gone.
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

// A session that holds a lease that has ended did not hear of its end (the connection was broken then). A lease that
// another session owns, and on which the holder was dismissed, has ended for that holder.
void answer_holds(Core& core, const Owner& owner, const Request& request) {
  if (!core.reconciliation.done_once) return;  // it may yet be adopted
  for (const LeaseId& id : request.holds) {
    const Lease* held = find_lease(core, id);
    // A lease on its way out that has no owner: its holder was told already, perhaps while it could not hear.
    const bool was_told = held != nullptr && !held->owner && held->end && held->state >= LeaseState::kDraining;
    const bool let_go = held != nullptr && held->owner && held->let_go.contains(owner.session);
    if (held != nullptr && !held->over() && !was_told && !let_go) continue;
    const Cause why{let_go ? CauseCode::kSessionSilent : CauseCode::kEndedUnseen};
    const Error unknown = error_of(ErrorCode::kLeaseEnded, why, {{"lease", id.hex()}});
    core.act(TellLeaseEnded{owner.session, owner.request, id, held != nullptr && held->end ? *held->end : unknown});
    holds_no_more(core, owner, id);
  }
}

void take(Core& core, const SessionId& session, RequestState& record, const Request& request) {
  const Owner owner{session, request.id};
  const bool was_demanded = record.demanded();
  const bool new_calls = request.generation > record.request.generation;
  record.request = request;
  if (!record.demanded()) forget_trouble(record);
  if (new_calls && record.on_purpose) forget_hold_off(record);
  if (record.failed) {
    if (!new_calls && same_counts_as_failed(record))
      return core.act(TellRequestFailed{session, request.id, *record.failed});
    record.failed.reset();
  }
  answer_holds(core, owner, request);
  Lease* lease = serving(core, owner, request);
  if (lease == nullptr) return;
  if (was_demanded || record.demanded()) lease->last_busy = core.now;
  hear_demand(core, *lease, record.demanded());
}

}  // namespace

void on(Core& core, const DemandChanged& event) {
  if (has_closed(core, event.session)) return core.ignore();
  Session& session = core.sessions[event.session];
  session.last_seen = core.now;
  session.awaited_until.reset();
  std::map<RequestId, Request> requests;
  for (const Request& request : event.requests) requests[request.id] = request;
  for (const auto& [id, old] : session.requests)
    if (!requests.contains(id)) requests[id] = Request{id, old.request.resources, 0, 0, {}};
  for (const auto& [id, lease] : core.leases)
    if (lease.owner && lease.owner->session == event.session && !requests.contains(lease.owner->request))
      requests[lease.owner->request] = Request{lease.owner->request, lease.resources, 0, 0, {}};
  for (const auto& [id, request] : requests) take(core, event.session, session.requests[id], request);
}

void answer_all_holds(Core& core) {
  for (const auto& [session, record] : core.sessions)
    for (const auto& [id, entry] : record.requests) answer_holds(core, {session, id}, Request(entry.request));
}

}  // namespace pounce::lease
