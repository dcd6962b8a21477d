// A batch system of one user: an asynchronous queue that loses replies, hangs, preempts, fails, requeues, forgets. Two
// instances of pounce submit to it. It knows what real Slurm would show (contract: src/launch/launcher.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "model/job.h"
#include "model/queue_snapshot.h"
#include "pounce/error.h"
#include "simulator/faults.h"
#include "simulator/timeline.h"

namespace pounce::simulator {

class World;

class Slurm {
 public:
  template <class T>
  using Reply = std::function<void(Result<T>)>;

  explicit Slurm(World& world) : world_(world) {}

  void submit(const InstanceId& instance, const LeaseId& lease, const Resources& resources, Reply<JobIdentity> reply);
  void cancel(const InstanceId& instance, const JobIdentity& job, Reply<void> reply);
  void poll(const std::vector<JobIdentity>& jobs, Reply<std::vector<JobView>> reply);
  void reconcile(const InstanceId& instance, bool everybody, Reply<std::vector<JobView>> reply);

  void look(const std::vector<JobIdentity>& ours, Reply<QueueSnapshot> reply);

  void second();                                 // its scheduler and its troubles
  void worker_left(SlurmJobId job, JobEnd end);  // the job's processes ended by themselves
  bool shows(const LeaseId& lease) const;        // its job lives, and has for a while
  std::ptrdiff_t waiting() const;                // jobs
  bool hides() const;                            // the jobs of others
  bool runs(const JobIdentity& job) const;
  bool runs(const LeaseId& lease) const;  // and holds its node
  void heal() { down_until_ = {}; }

  struct Job {
    JobView view;
    TimePoint changed;
  };
  const std::map<SlurmJobId, Job>& jobs() const { return jobs_; }
  static bool alive(const Job& job) {
    return job.view.state == JobState::kQueued || job.view.state == JobState::kRunning;
  }

 private:
  // Runs `work` on the controller and passes its answer on, or loses one of the two.
  template <class T>
  void request(std::function<Result<T>()> work, Reply<T> reply);
  bool down() const;
  JobIdentity accept(const InstanceId& instance, const LeaseId& lease, const Resources& resources);
  void start(Job& job);
  void end(Job& job, JobEnd end, Millis killing);
  void trouble(Job& job);
  JobView shown(const Job& job);
  JobView answer(const JobIdentity& asked);

  World& world_;
  std::map<SlurmJobId, Job> jobs_;
  std::set<LeaseId> submitted_;
  std::uint32_t next_id_ = 1;
  std::int64_t next_submit_s_ = 1'000'000;
  TimePoint down_until_{};
};

}  // namespace pounce::simulator
