// The batch system of a simulated day: waiting jobs start by priority and age, within the limits of class and user.
// audit() recounts the result independently of the decisions. Thread: any.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "model/job.h"
#include "model/queue_snapshot.h"
#include "policy_simulator/simulated_day.h"
#include "policy_simulator/timeline.h"
#include "pounce/resources.h"
#include "pounce/result.h"

namespace pounce::policy_simulator {

class BatchSystem {
 public:
  // started: starts the job's workers. ended: they are gone.
  using OnJob = std::function<void(const JobView&)>;
  BatchSystem(const Site& site, const BatchRules& rules, Timeline& time, Day& day)
      : site_(site),
        rules_(rules),
        time_(time),
        day_(day),
        free_gpus_(site.nodes, site.gpus_per_node),
        free_cpus_(site.nodes, site.cpus_per_node) {}

  Result<JobIdentity> submit(std::uint32_t user, const LeaseId& lease, const InstanceId& instance,
                             const Resources& resources, OnJob started, OnJob ended);
  void end(SlurmJobId job, JobEnd how);
  JobView view(SlurmJobId job) const;
  std::vector<JobView> jobs_of(std::uint32_t user) const;
  QueueSnapshot look(const std::vector<JobIdentity>& ours) const;

 private:
  struct Job {
    JobView view;
    std::uint32_t user = 0, priority = 0, node = 0;
    bool waited_for_jobs = false, waited_for_gpus = false;
    TimePoint started{};
    OnJob on_start, on_end;
  };
  struct Use {
    std::uint32_t jobs = 0, gpus = 0;
  };
  using Key = std::pair<std::uint32_t, std::string>;  // user, class

  const ClassRule& rule(const std::string& name) const;
  void plan_soon();
  void plan();
  bool allowed(Job& job);
  bool place(Job& job);
  void start(Job& job);
  void audit(const Job& job);
  Room room_of(const Job& job) const;

  const Site& site_;
  const BatchRules& rules_;
  Timeline& time_;
  Day& day_;
  std::vector<std::uint32_t> free_gpus_, free_cpus_;
  std::map<SlurmJobId, Job> jobs_;
  std::map<std::uint32_t, std::set<SlurmJobId>> of_user_;
  std::set<std::tuple<std::uint32_t, SlurmJobId>> line_;  // by priority (highest first), then by age
  std::map<Key, Use> use_;                                // used for decisions
  std::uint32_t next_id_ = 1;
  bool plan_under_way_ = false;
};

}  // namespace pounce::policy_simulator
