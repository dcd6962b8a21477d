// The job's first process where a lease has several workers: forks a supervisor for each, passes the batch system's signals
// on to them and starts one that is missing anew. Each supervisor has its own keys, interpreter and connection to pounced;
// this process has none (docs/decisions/0005-a-group-of-supervisors.md). Thread: the only one of its process, as fork needs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>

#include "base/clock.h"
#include "pounce/ids.h"

namespace pounce::worker {

// How a supervisor ends; every other exit status is an accident.
enum class SupervisorEnd : int {
  kOver = 0,       // there is nothing to come back for
  kLeftIdle = 75,  // it was asked to leave if idle, and was: it is missed if others of the lease were not
};

class WorkerGroup {
 public:
  // In the child: serves as that worker, with epochs from there on, until it ends.
  using Serve = std::function<SupervisorEnd(WorkerIndex worker, Epoch first)>;

  // Those that are asked together leave within this time of each other (Supervisor's orderly end), and what they have to save.
  static constexpr std::chrono::milliseconds kLeaveTogether{10'000};

  WorkerGroup(std::uint32_t workers, Serve serve, std::chrono::milliseconds leave_together = kLeaveTogether);
  int run();  // until all have ended; the job's exit code

 private:
  struct Member {
    pid_t pid = 0;                             // 0: not here
    std::uint32_t starts = 0, accidents = 0;
    TimePoint back_at = TimePoint::max();      // left idle: started again then, if others are still here
  };

  void start(WorkerIndex index, Member& member);
  void pass_on(int signal);
  void reap();
  void ended(WorkerIndex index, Member& member, int wait_status);
  void end_orphans();
  void bring_back(TimePoint now);
  bool anybody() const;
  TimePoint next_deadline() const;

  const Serve serve_;
  const std::chrono::milliseconds leave_together_;
  std::map<WorkerIndex, Member> members_;
  bool ending_ = false, broken_ = false;
};

}  // namespace pounce::worker
