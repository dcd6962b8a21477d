#include "core/lease/early_release.h"

#include <map>
#include <string>

namespace pounce::lease {

void Release::on(const QueueSnapshotTaken& event) {
  for (Lease* lease : idle_.wanted_by_others(event)) {
    if (!transitions_.accept(*lease, News::kSomebodyWaits)) continue;
    const std::map<std::string, std::string> context = {{"given_back", "somebody_waits"}, {"gpus", std::to_string(lease->resources.all_gpus())}};
    ending_.give_back(*lease, error_of(ErrorCode::kLeaseEnded, Cause{CauseCode::kSomebodyWaits}, context), true);
  }
}

void Release::on(const ReleaseAsked& event) {
  Lease* lease = context_.leases.find(event.lease);
  if (lease == nullptr) return context_.ignore("a release of no lease");
  if (!transitions_.accept(*lease, News::kReleaseAsked)) return;
  if (event.now) return release_now(*lease, event.why);
  lease->release_asked = true;
  lease->history.add(context_.now(), CauseCode::kToBeReleased);
}

void Release::release_now(Lease& lease, const Error& why) {
  if (lease.end && !lease.only_if_idle) return;  // it is on its way out, for its own reason
  if (RequestState* record = context_.sessions.request_of(lease); record != nullptr && record->demanded()) {
    // A demand that is on its way may still name the tasks that end here: it must not start another job.
    requests_.no_replacement(*record, CauseCode::kReleasedByUser);
    if (record->request.waiting > 0) requests_.fail(*lease.owner, *record, why);  // what runs hears of the lease's end
  }
  ending_.give_back(lease, why);
}

}  // namespace pounce::lease
