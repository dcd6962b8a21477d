// What pounced told about each lease: for the waiting user, and for the timings of a call. Thread: the leader token's
// holder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pounce/ids.h"
#include "protocol/messages.h"

namespace pounce::client {

class LeaseCache {
 public:
  void update(const protocol::LeaseStatus& status, std::int64_t now_ns);
  void granted(const LeaseId& lease, std::int64_t now_ns) { started_ns_.try_emplace(lease, now_ns); }
  void forget(const LeaseId& lease);

  // The news of that request that a waiting user wants to see: the status of the lease that was told of last.
  std::optional<protocol::LeaseStatus> of_request(RequestId request) const;
  std::optional<protocol::LeaseStatus> of_lease(const LeaseId& lease) const;
  std::vector<protocol::LeaseStatus> all() const;
  // An error that names a lease names its job, too.
  Error with_job(Error error) const;
  // When we first heard that its job runs; 0: not yet.
  std::int64_t started_ns(const LeaseId& lease) const;

 private:
  std::map<LeaseId, protocol::LeaseStatus> status_;
  std::map<RequestId, LeaseId> latest_;
  std::map<LeaseId, std::int64_t> started_ns_;
};

}  // namespace pounce::client
