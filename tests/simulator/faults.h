// What can go wrong in a simulated life, and how often. Each life draws which kinds it suffers from ("swarm"): a life with
// everything at once finds fewer bugs than lives with a few kinds each.
#pragma once

#include <cstdint>

#include "simulator/timeline.h"

namespace pounce::simulator {

// Rates are per million: per request, per message, or per second of a job, session or daemon.
struct Faults {
  std::uint32_t lost_reply = 0, slurm_down = 0, unknown_state = 0;                          // the batch system
  std::uint32_t preempt = 0, node_fail = 0, walltime = 0, scancel = 0, out_of_memory = 0;  // its jobs
  std::uint32_t start_fail = 0, requeue = 0;
  std::uint32_t worker_hang = 0, interpreter_crash = 0, partition = 0;  // workers
  std::uint32_t daemon_crash = 0, journal_lost = 0;                     // pounced
  std::uint32_t session_kill = 0, session_close = 0, repeated = 0;      // clients and messages
  std::uint32_t release = 0;                                           // a user asks for a lease back

  static Faults drawn(Random& random) {
    const auto some = [&random](std::uint32_t rate) { return random.chance(500'000) ? 0 : random.below(rate); };
    Faults faults;
    faults.lost_reply = some(400'000);
    faults.slurm_down = some(15'000);
    faults.unknown_state = some(100'000);
    faults.preempt = some(8'000);
    faults.node_fail = some(8'000);
    faults.walltime = some(8'000);
    faults.scancel = some(8'000);
    faults.out_of_memory = some(8'000);
    faults.start_fail = some(200'000);
    faults.requeue = some(8'000);
    faults.worker_hang = some(300'000);
    faults.interpreter_crash = some(20'000);
    faults.partition = some(10'000);
    faults.daemon_crash = some(20'000);
    faults.journal_lost = some(500'000);
    faults.session_kill = some(5'000);
    faults.session_close = some(5'000);
    faults.repeated = some(100'000);
    faults.release = some(20'000);
    return faults;
  }
};

// A planted bug: the simulation must find each of these.
enum class Mutant {
  kNone,
  kNoReconcile,          // every reconciliation is answered with "nothing there"
  kIdleTimerLost,    // a restarted daemon never gives idle leases back
  kInstanceIgnored,  // the tag's instance is not looked at
  kCancelOnce,       // a cancel is sent once and never again
  kSilenceIgnored,   // a dead kernel counts as heard
  kJournalAfter      // the intent is written, but not before the submission
};

}  // namespace pounce::simulator
