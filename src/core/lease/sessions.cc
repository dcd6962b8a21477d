// Clients: who is there and what they want. A want has at most one lease; the demand is the whole truth each time.
#include <algorithm>

#include "core/lease/lease_core.h"
#include "core/lease/words.h"

namespace pounce::lease {
namespace {
constexpr std::size_t kClosedKept = 256;
}

void LeaseCore::on(const SessionOpened& event) {
  std::erase(closed_, event.session);
  sessions_[event.session].heard = now_;
  sessions_[event.session].stays |= event.stays;
  for (auto& [id, lease] : leases_) {
    if (!lease.owner || lease.owner->session != event.session) continue;
    tell(lease);
    introduce(lease);
  }
}

void LeaseCore::on(const SessionHeard& event) {
  const auto session = sessions_.find(event.session);
  if (session == sessions_.end()) return ignore("a beat of an unknown session");
  session->second.heard = now_;
}

void LeaseCore::on(const SessionClosed& event) {
  if (!sessions_.contains(event.session)) return ignore("an unknown session closed");
  closed_.push_back(event.session);
  if (closed_.size() > kClosedKept) closed_.pop_front();
  forget_session(event.session, "its session closed");
}

void LeaseCore::forget_session(const SessionId& session, const std::string& why) {
  for (auto& [id, lease] : leases_) {
    if (!lease.owner || lease.owner->session != session) continue;
    for (const auto& [index, worker] : lease.workers)
      if (worker.linked) act(DismissClient{id, worker.link, session, why});
    if (accept(lease, News::kOwnerGone)) give_back(lease, {ErrorCode::kLeaseEnded, "Given back: " + why + ".", {}, {}});
  }
  sessions_.erase(session);
  changed_ = true;
}

void LeaseCore::on(const DemandChanged& event) {
  if (std::find(closed_.begin(), closed_.end(), event.session) != closed_.end())
    return ignore("a demand of a closed session");
  Session& book = sessions_[event.session];  // one that fell silent and was forgotten is back
  book.heard = now_;
  book.awaited_until.reset();
  std::map<WantId, Want> wants;
  for (const Want& want : event.wants) wants[want.id] = want;
  for (const auto& [id, old] : book.wants)
    if (!wants.contains(id)) wants[id] = Want{id, old.want.resources, 0, 0, {}};
  for (const auto& [id, lease] : leases_)
    if (lease.owner && lease.owner->session == event.session && !wants.contains(lease.owner->want))
      wants[lease.owner->want] = Want{lease.owner->want, lease.resources, 0, 0, {}};
  for (const auto& [id, want] : wants) take_demand(event.session, book, want);
}

void LeaseCore::take_demand(const SessionId& session, Session& book, const Want& want) {
  const Owner owner{session, want.id};
  WantBook& entry = book.wants[want.id];
  const bool was_demanded = entry.demanded();
  entry.want = want;
  if (!entry.demanded()) {  // whatever stood in the way belonged to the tasks that are gone
    entry.failed.reset();
    entry.not_before = {};
    entry.wait_reason.clear();
    entry.backoff = {};
    entry.bad_starts = 0;
  } else if (entry.failed) {
    // The same counts again: a repeated message, or tasks that have not yet heard of their failure.
    if (want.waiting == entry.failed_waiting && want.running == entry.failed_running)
      return act(TellWantFailed{session, want.id, *entry.failed});
    entry.failed.reset();
  }
  answer_holds(owner, want);
  Lease* lease = lease_of(owner);
  if (lease != nullptr && lease->resources != want.resources && accept(*lease, News::kOwnerGone)) {
    give_back(*lease, {ErrorCode::kLeaseEnded, "Given back: the want asks for other resources now.", {}, {}});
    lease = nullptr;
  }
  if (lease == nullptr || lease->state == LeaseState::kWanted) lease = take_over(owner, want, lease);
  if (lease == nullptr) return;
  if (was_demanded || entry.demanded()) lease->last_busy = now_;
  demand_news(*lease, entry.demanded());
}

// Whoever holds a lease that has ended did not hear of its end (it was told while the connection was broken).
void LeaseCore::answer_holds(const Owner& owner, const Want& want) {
  if (!reconciled_) return;  // it may yet be adopted
  for (const LeaseId& id : want.holds) {
    const Lease* held = find(id);
    // One on its way out that has nobody told its holder already, perhaps while the holder could not hear.
    const bool told = held != nullptr && !held->owner && held->end && held->state >= LeaseState::kDraining;
    if (held != nullptr && !held->over() && !told) continue;
    const Error unknown{ErrorCode::kLeaseEnded, "This lease has ended.", {}, {{"lease", id.hex()}}};
    act(TellLeaseEnded{owner.session, owner.want, id, held != nullptr && held->end ? *held->end : unknown});
  }
}

// A lease nobody claims (after a restart of pounced) goes to whoever holds it, else to whoever could use it.
Lease* LeaseCore::take_over(const Owner& owner, const Want& want, Lease* wanted) {
  Lease* taken = held_by(want);
  if (taken == nullptr && want.waiting > 0) taken = spare_for(want.resources);
  if (taken == nullptr) return wanted;
  if (wanted != nullptr && accept(*wanted, News::kDemandGone)) {
    wanted->owner.reset();
    finish(*wanted, {ErrorCode::kLeaseEnded, "Another lease serves.", {}, {}});
  }
  taken->owner = owner;
  taken->resources = want.resources;
  taken->last_busy = now_;
  taken->story.add(now_, "claimed by session " + owner.session.hex());
  if (taken->journalled) record(*taken, JournalRecord::Kind::kIntent);
  tell(*taken);
  introduce(*taken);
  return taken;
}

Lease* LeaseCore::held_by(const Want& want) {
  for (const LeaseId& id : want.holds)
    if (Lease* lease = find(id); lease != nullptr && lease->claimable()) return lease;
  return nullptr;
}

Lease* LeaseCore::spare_for(const Resources& resources) {
  Lease* best = nullptr;
  for (auto& [id, lease] : leases_) {
    const bool calm = lease.state == LeaseState::kQueued || lease.state == LeaseState::kStarting ||
                      lease.state == LeaseState::kIdle;
    if (!calm || !lease.claimable() || !covers(lease.resources, resources)) continue;
    if (best == nullptr || best->state < lease.state) best = &lease;  // the further on, the better
  }
  return best;
}

// After an adoption: wants that came before it may be served by it. Holders first.
void LeaseCore::offer_spares() {
  for (const bool only_held : {true, false}) {
    for (auto& [session, book] : sessions_) {
      for (auto& [id, entry] : book.wants) {
        const Owner owner{session, id};
        Lease* lease = lease_of(owner);
        if (!entry.demanded() || entry.failed || (lease != nullptr && lease->state != LeaseState::kWanted)) continue;
        if (only_held && held_by(entry.want) == nullptr) continue;
        lease = take_over(owner, entry.want, lease);
        if (lease != nullptr) demand_news(*lease, true);
      }
    }
  }
}

void LeaseCore::demand_news(Lease& lease, bool demanded) {
  if (accept(lease, demanded ? News::kDemandCame : News::kDemandGone)) refresh(lease);
}

}  // namespace pounce::lease
