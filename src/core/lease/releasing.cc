// A person asks for a lease back. As soon as it is idle: its tasks come first, and nothing waits for the idle time.
// Now: an order; whatever waits for it or runs on it ends with the reason given, and nothing new is asked for in its
// place.
#include "core/lease/lease_core.h"

namespace pounce::lease {

void LeaseCore::on(const ReleaseAsked& event) {
  Lease* lease = find(event.lease);
  if (lease == nullptr) return ignore("a release of no lease");
  if (!accept(*lease, News::kReleaseAsked)) return;
  if (event.now) return release_now(*lease, event.why);
  lease->release_asked = true;
  lease->story.add(now_, "to be given back when idle");
}

void LeaseCore::release_now(Lease& lease, const Error& why) {
  if (lease.end && !lease.only_if_idle) return;  // it is on its way out, for its own reason
  if (WantBook* book = want_of(lease); book != nullptr && book->demanded()) {
    // A demand that is on its way may still name the tasks that end here: it must not start another job.
    book->not_before = now_ + defaults_.no_replacement;
    book->wait_reason = "a person gave the last lease back; a new one is not asked for at once";
    if (book->want.waiting > 0) fail_want(*lease.owner, *book, why);  // what runs hears of the lease's end
  }
  give_back(lease, why);
}

}  // namespace pounce::lease
