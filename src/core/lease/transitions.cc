#include "core/lease/transitions.h"

namespace pounce::lease {

bool Transitions::accept(Lease& lease, News news) {
  cell_ = &cell(lease.state, news);
  cell_lease_ = lease.id;
  if (cell_->next != 0) return true;
  lease.history.add(context_.now(), {.code = CauseCode::kIgnored, .word = std::string(word(news)), .said = std::string(cell_->ignored)});
  ++context_.count().ignored;
  return false;
}

void Transitions::enter(Lease& lease, LeaseState state, const Cause& why) {
  if (state == lease.state) return;
  if (cell_ == nullptr || cell_lease_ != lease.id || !cell_->allows(state)) {
    if (breach_.empty())
      breach_ = "lease " + lease.id.hex() + " went from " + std::string(word(lease.state)) + " to " +
                std::string(word(state)) + " against the table: " + std::string(words(why.code).of(why.code));
  }
  const bool was_active = lease.active();
  lease.history.enter(context_.now(), lease.state, state, why);
  lease.state = state;
  lease.since = context_.now();
  context_.change();
  if (!(was_active && lease.active())) notices_.tell(lease);
}

void Transitions::refresh(Lease& lease) {
  if (!lease.active() && !(lease.state == LeaseState::kStarting && lease.ready())) return;
  const RequestState* record = context_.sessions.request_of(lease);
  const bool demanded = record != nullptr && record->demanded();
  enter(lease, demanded || lease.running() > 0 ? LeaseState::kBusy : LeaseState::kIdle, demanded ? CauseCode::kTasksWait : CauseCode::kReady);
}

}  // namespace pounce::lease
