// The lease table: for each (state, news) the states that may follow, or why the news is ignored. The core asks it
// before it acts and the tests hold every transition to it; docs/states.md prints it. Thread: any (constants).
#pragma once

#include <cstdint>
#include <string_view>

#include "core/lease/state.h"

namespace pounce::lease {

// What one lease can hear. Several events of events.h become one kind here, one becomes several.
enum class News : std::uint8_t {
  kDemandCame,          // its request has tasks waiting or running
  kDemandGone,          // its request has none any more
  kOwnerGone,           // its session closed, fell silent, or changed its mind about the resources
  kReleaseAsked,        // a user wants it given back, now or when it is idle
  kSubmitted,           // Slurm took the job
  kSubmitRefused,       // Slurm said clearly no
  kSubmitUnclear,       // nobody knows whether a job exists
  kAbsent,              // a reconciliation begun after all that we know does not show its job
  kJobUnknown,          // a job state this build cannot name
  kJobQueued,
  kJobRunning,
  kJobEnding,
  kJobEnded,
  kJobRequeued,         // the same job id with a higher restart count
  kCancelDone,
  kWorkerConnected,
  kInterpreterStarted,
  kInterpreterDied,
  kWorkerSeen,
  kWorkerLost,
  kSomebodyWaits,       // for what it holds, while it is kept warm
  kTimePassed           // one of the state's own deadlines
};
inline constexpr int kNewsKinds = 22;

std::string_view word(News news);

struct Cell {
  std::uint16_t next = 0;       // bit per LeaseState that may follow; 0: ignored
  std::string_view ignored{};   // why

  constexpr bool allows(LeaseState state) const { return (next >> static_cast<int>(state) & 1u) != 0; }
};

const Cell& cell(LeaseState state, News news);

}  // namespace pounce::lease
