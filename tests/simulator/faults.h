// What can go wrong in a history, and how often. Each history draws which kinds it suffers from ("swarm"): a history
// with everything at once finds fewer bugs than histories with a few kinds each.
#pragma once

#include <cstdint>

#include "simulator/timeline.h"

namespace pounce::simulator {

// Rates are per million: per request, per message, per task, or per second of a job, session, connection or daemon.
struct Faults {
  std::uint32_t lost_reply = 0, slurm_down = 0, unknown_state = 0;                         // the batch system
  std::uint32_t preempt = 0, node_fail = 0, walltime = 0, scancel = 0, out_of_memory = 0;  // its jobs
  std::uint32_t start_fail = 0, requeue = 0, start_twice = 0;
  std::uint32_t worker_hang = 0, interpreter_crash = 0, partition = 0;  // workers
  std::uint32_t deadly = 0, stubborn = 0;  // tasks: one kills its interpreter, one does not stop
  std::uint32_t daemon_crash = 0, journal_lost = 0, no_daemon = 0;  // pounced
  std::uint32_t session_kill = 0, session_close = 0, stop = 0;      // kernels
  std::uint32_t cut = 0, stall = 0, linger = 0, repeated = 0;       // connections and messages
  std::uint32_t release = 0;                                        // a user asks for a lease back

  bool operator==(const Faults&) const = default;
  static Faults drawn(Random& random) {
    const auto some = [&random](std::uint32_t rate) { return random.chance(500'000) ? 0 : random.below(rate); };
    Faults faults;
    faults.lost_reply = some(400'000);
    faults.slurm_down = some(15'000);
    faults.unknown_state = some(100'000);
    faults.preempt = some(10'000);
    faults.node_fail = some(10'000);
    faults.walltime = some(10'000);
    faults.scancel = some(10'000);
    faults.out_of_memory = some(10'000);
    faults.start_fail = some(200'000);
    faults.requeue = some(20'000);
    faults.worker_hang = some(300'000);
    faults.interpreter_crash = some(30'000);
    faults.partition = some(20'000);
    faults.deadly = some(100'000);
    faults.stubborn = some(200'000);
    faults.daemon_crash = some(20'000);
    faults.journal_lost = some(500'000);
    faults.no_daemon = some(100'000);
    faults.session_kill = some(8'000);
    faults.session_close = some(8'000);
    faults.stop = some(10'000);
    faults.cut = some(60'000);
    faults.stall = some(30'000);
    faults.linger = some(1'000'000);
    faults.repeated = some(100'000);
    faults.release = some(20'000);
    faults.start_twice = some(10'000);
    return faults;
  }
};

}  // namespace pounce::simulator
