// The states of a lease (docs/states.md has the table). `idle` and `busy` are the two faces of an active lease.
#pragma once

#include <cstdint>
#include <string_view>

namespace pounce::lease {

enum class LeaseState : std::uint8_t {
  kRequested,      // somebody needs it; nothing is submitted yet
  kSubmitting,  // the intent is in the journal; whether a job exists is not known
  kQueued,      // Slurm has the job; it waits
  kStarting,    // the job runs; no interpreter is ready
  kIdle,        // ready; nothing waits for it, nothing runs on it
  kBusy,        // ready; a task waits for it or runs on it
  kDraining,    // the worker was told to end; not yet cancelled in Slurm
  kEnding,      // cancelled or ending by itself; Slurm still shows the job
  kEnded        // no job is left
};
inline constexpr int kLeaseStates = 9;

constexpr std::string_view word(LeaseState state) {
  constexpr std::string_view kWords[kLeaseStates] = {"wanted", "submitting", "queued", "starting", "idle",
                                                     "busy",   "draining",   "ending", "ended"};
  return kWords[static_cast<int>(state)];
}

}  // namespace pounce::lease
