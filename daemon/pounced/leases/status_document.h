// What users read of this daemon: the JSON document that answers `pouncectl status` (docs/protocol.md §6), the queue's
// rows and the answer to a release. Thread: loop; the rows are pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/lease/lease_core.h"
#include "job/slurm_reason.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/status_document.h"
#include "pounce/error.h"
#include "pounced/daemon_state.h"
#include "pounced/leases/site_policy.h"
#include "pounced/startup/setup.h"
#include "protocol/messages.h"

namespace pounce::daemon {

// A moment of the steady clock as others can read it.

// Seconds since 1970; 0 for a moment that is past.
std::int64_t unix_time_of(TimePoint when);

// What the core knows of a job that waits, as messages and documents tell it.
inline model::QueueWait wait_of(const job::Waiting& waiting, std::int64_t start_estimate_s) {
  return {waiting.sentence, waiting.ahead, start_estimate_s, waiting.limit, waiting.eta};
}

// What the batch system says now about this user's jobs of pounce, as the rows that a user reads.

// Sets neither the request number nor the launcher. The answer fits into one message of the control channel: rows
// beyond some hundred are left out.
protocol::QueueIs queue_rows(const Result<std::vector<JobView>>& views);

// A user's wish to have leases back, as the core's event, and what became of each.
lease::ReleaseAsked release_asked(const LeaseId& lease, const protocol::ReleaseAsk& message);
protocol::ReleaseIs release_rows(const protocol::ReleaseAsk& message, const lease::LeaseCore& core);

struct StatusSources {
  const Setup& setup;
  const ClusterFacts& facts;
  const DaemonState& state;
  const SitePolicy& policy;
  std::vector<model::ListenerRow> listeners;
};

// The text fits into one message of the control channel: with many leases the histories are shortened.
std::string status_document(const StatusSources& sources, const lease::LeaseCore& core, TimePoint now);

}  // namespace pounce::daemon
