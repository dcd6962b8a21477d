#include "core/lease/presence.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace pounce::lease {

void Presence::on(const SessionOpened& event) {
  Session& session = context_.sessions.open(event.session);
  session.last_seen = context_.now();
  session.stays |= event.stays;
  for (const auto& [id, lease] : context_.leases) {
    if (!lease.owner || lease.owner->session != event.session) continue;
    notices_.tell(lease);
    notices_.introduce(lease);
  }
}

void Presence::on(const SessionSeen& event) {
  Session* session = context_.sessions.find(event.session);
  if (session == nullptr) return context_.ignore("a beat of an unknown session");
  session->last_seen = context_.now();
}

void Presence::on(const SessionClosed& event) {
  if (!context_.sessions.here(event.session)) return context_.ignore("an unknown session closed");
  context_.sessions.say_goodbye(event.session);
  forget(event.session, CauseCode::kSessionClosed);
}

void Presence::forget(const SessionId& session, CauseCode why) {
  for (auto& [id, lease] : context_.leases) {
    if (!lease.owner || lease.owner->session != session) continue;
    dismiss(lease, session, why);
    if (transitions_.accept(lease, News::kOwnerGone))
      ending_.give_back(lease, error_of(ErrorCode::kLeaseEnded, why));
  }
  let_go_of_holds(session, why);
  context_.sessions.forget(session);
  context_.change();
}

void Presence::dismiss(const Lease& lease, const SessionId& session, CauseCode why) {
  for (const auto& [index, worker] : lease.workers)
    if (worker.linked) context_.act(DismissClient{lease.id, worker.link, session, Cause{why}});
}

Error Presence::end_for(const Lease* lease, const LeaseId& id, CauseCode why) const {
  if (lease == nullptr) return error_of(ErrorCode::kLeaseEnded, Cause{why}, {{"lease", id.hex()}});
  if (lease->over() && lease->end) return *lease->end;
  return with_evidence(*lease, error_of(ErrorCode::kLeaseEnded, why));
}

// Of leases that are another's by now, since pounced started anew, or that ended before it could say so. If it is there after
// all it would never hear of their ends: nobody knows any more that it holds them.
void Presence::let_go_of_holds(const SessionId& session, CauseCode why) {
  for (const auto& [request, entry] : context_.sessions.at(session).requests)
    for (const LeaseId& id : entry.request.holds) {
      Lease* lease = context_.leases.find(id);
      if (lease != nullptr && lease->owner && lease->owner->session == session) continue;
      context_.act(TellLeaseEnded{session, request, id, end_for(lease, id, why)});
      if (lease == nullptr || lease->over()) continue;
      dismiss(*lease, session, why);
      lease->let_go.insert(session);
    }
}

void Presence::settle() {
  std::vector<SessionId> silent;
  for (auto& [id, session] : context_.sessions) {
    if (session.awaited_until && context_.due(*session.awaited_until)) {
      session.awaited_until.reset();
      context_.change();
    }
    if (!session.stays && context_.due(session.last_seen + context_.times.orphan_grace)) silent.push_back(id);
  }
  for (const SessionId& id : silent) forget(id, CauseCode::kSessionSilent);
  for (auto& [id, lease] : context_.leases) dismiss_who_stayed_away(lease);
}

// Whom only an earlier pounced knew: what such a client left there would run on, and the owner's tasks wait behind it.
void Presence::dismiss_who_stayed_away(Lease& lease) {
  if (!lease.owner) return;  // whoever left it may still claim it
  for (auto& [index, worker] : lease.workers) {
    if (!worker.linked || worker.clients.empty() || !context_.due(worker.clients_since + context_.times.orphan_grace)) continue;
    const std::vector<Owner> here = context_.sessions.concerned(lease);
    for (const SessionId& client : std::exchange(worker.clients, {})) {
      if (std::ranges::count(here, client, &Owner::session) > 0) continue;
      context_.act(DismissClient{lease.id, worker.link, client, Cause{CauseCode::kSessionSilent}});
      lease.let_go.insert(client);
    }
  }
}

}  // namespace pounce::lease
