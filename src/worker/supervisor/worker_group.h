// The first process of a job, or of its step on a further node, where a lease has several workers: starts a supervisor
// for each, and for each further node the step with those of that node; passes the batch system's signals on and
// restarts one that is missing. Each supervisor has its own keys, interpreter and connection to pounced; this process
// has none (docs/decisions/0005-a-group-of-supervisors.md, 0012-further-nodes-are-steps.md). Thread: the only one of
// its process, as fork needs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "job/inside_job.h"
#include "model/ids.h"
#include "pounce/error.h"

namespace pounce::worker {

// The step of a job that serves with the workers of one of its further nodes: this program again, started there by
// Slurm's own step launcher. Pure. Thread: any.

// argv: this process's, which begins with the program and "serve". node: counted from the lease's first, which is 0.
// ours: this process's environment, which the step gets with the identity of the job.
Program node_step(const std::vector<std::string>& argv, const job::JobNodes& nodes, std::uint32_t node,
                  Epoch first_epoch, const Environment& ours);

// How a supervisor ends. Every other exit status is an accident.
enum class SupervisorEnd : int {
  kOver = 0,       // it need not be started again
  kLeftIdle = 75,  // it left because it was idle; it is needed again if others of the lease stay
};

class WorkerGroup {
 public:
  // Starts the process of that worker, or the step that begins with it. Its epochs begin at `first`, and it ends as
  // SupervisorEnd says.
  using Start = std::function<Result<pid_t>(WorkerIndex worker, Epoch first)>;

  // Workers that are told to leave together do so within this time of each other (Supervisor's orderly end), plus the
  // time to save their variables.
  static constexpr std::chrono::milliseconds kLeaveTogether{10'000};

  // The members are started in this order.
  WorkerGroup(const std::vector<WorkerIndex>& members, Start start,
              std::chrono::milliseconds leave_together = kLeaveTogether);
  // Until all have ended; the exit code is SupervisorEnd's, or 1 where a member is given up.
  int run();

  struct GivenUp {
    WorkerIndex member;
    bool never_ran;  // no process of it could be started
  };
  const std::optional<GivenUp>& given_up() const { return given_up_; }  // the first one

 private:
  struct Member {
    pid_t pid = 0;  // 0: not running
    std::uint32_t starts = 0, accidents = 0;
    TimePoint back_at = TimePoint::max();  // when one that left idle starts again, if others are still here
  };

  void start(WorkerIndex index, Member& member);
  void give_up(GivenUp member);
  void pass_on(int signal);
  void reap();
  void ended(WorkerIndex index, Member& member, int wait_status);
  void end_orphans();
  void bring_back(TimePoint now);
  bool any_running() const;
  TimePoint next_deadline() const;

  const std::vector<WorkerIndex> order_;
  const Start start_;
  const std::chrono::milliseconds leave_together_;
  std::map<WorkerIndex, Member> members_;
  std::optional<GivenUp> given_up_;
  bool ending_ = false;
};

}  // namespace pounce::worker
