#include "core/lease/daemon_life.h"

namespace pounce::lease {

void DaemonLife::settle() {
  if (!context_.reconciliation.journal_read()) return;
  if (!context_.sessions.empty() || context_.leases.any_live()) {
    idle_since_.reset();
    asked_to_exit_ = false;
    return;
  }
  if (!idle_since_) idle_since_ = context_.now();
  if (asked_to_exit_ || !context_.due(*idle_since_ + context_.times.daemon_idle_exit)) return;
  asked_to_exit_ = true;
  context_.act(EndDaemon{});
}

}  // namespace pounce::lease
