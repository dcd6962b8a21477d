#include "pounced/leases/walltimes.h"

#include <algorithm>
#include <ctime>

namespace pounce::daemon {
namespace {

// For a waiting job the batch system gives only estimates. The last estimate stays until the first poll sees the job
// run.
std::int64_t end_of(const lease::LeaseView& lease) {
  const bool runs = lease.state == lease::LeaseState::kStarting || lease.state == lease::LeaseState::kIdle ||
                    lease.state == lease::LeaseState::kBusy;
  return runs && lease.start_s <= std::time(nullptr) ? lease.end_s : 0;
}

}  // namespace

void Walltimes::hear(const lease::Action& action) {
  if (const auto* admit = std::get_if<lease::AdmitClient>(&action)) {
    if (Peer* worker = peers_.worker(admit->link)) tell(*worker);
  } else if (const auto* status = std::get_if<lease::TellStatus>(&action)) {
    for (Peer* worker : peers_.workers(status->lease)) tell(*worker);
  }
}

void Walltimes::tell(Peer& worker) {
  const auto leases = driver_.core().leases();
  const auto lease = std::ranges::find(leases, worker.lease, &lease::LeaseView::lease);
  const std::int64_t end_s = lease != leases.end() ? end_of(*lease) : 0;
  if (end_s == 0 || end_s == worker.told_end_s) return;
  if (control_.send(worker, protocol::Walltime{worker.lease, end_s})) worker.told_end_s = end_s;
}

}  // namespace pounce::daemon
