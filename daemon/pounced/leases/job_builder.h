// Builds the launcher's job from a lease that the core wants submitted. The site's policy decides what the user left
// open; where the policy alone cannot decide, the cluster's state is queried. When Slurm refuses a job for good, the
// builder also names what would fit. Thread: loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/lease/actions.h"
#include "core/lease/defaults.h"
#include "launch/launcher.h"
#include "model/ids.h"
#include "model/job.h"
#include "policy/job_template.h"
#include "policy/placement_choice.h"
#include "pounce/resources.h"
#include "pounced/daemon_state.h"
#include "pounced/leases/core_driver.h"
#include "pounced/leases/nodes.h"
#include "pounced/leases/site_policy.h"
#include "pounced/startup/folders.h"
#include "protocol/messages.h"
#include "protocol/state_files.h"

namespace pounce::daemon {

// What is the same in each worker's command line.
struct WorkerPlan {
  std::string program;              // pounce-worker
  protocol::EndpointFile endpoint;  // of this daemon
  Folders folders;
  lease::Defaults times;
  bool stand_in = false;             // this machine's CPU stands in for GPUs
  std::string interface{}, ports{};  // where workers listen; empty: the interface that faces this daemon, any port
};

// One lease's submission: the worker's command line, environment and files. Nothing in it is secret: batch systems
// store and show all of it. Pure.
JobSpec job_spec(const WorkerPlan& plan, const InstanceId& instance, const LeaseId& lease, const Resources& resources,
                 const protocol::OpenSession& session);

struct MadeJob {
  JobSpec spec;
  std::string note;         // what was decided, for the lease's history; may be empty
  std::string not_nodes{};  // the user's own exclusions; the spec may exclude more
};

class JobBuilder {
 public:
  template <class T>
  using Reply = std::function<void(Result<T>)>;

  struct Site {
    InstanceId instance;
    bool slurm = true;    // false: the local launcher, which knows no policy
    bool has_qos = true;  // Slurm keeps accounts
    policy::Who who;
  };

  JobBuilder(Site site, WorkerPlan plan, SitePolicy& policy, launch::Launcher& launcher, const CoreDriver& driver,
             const AvoidedNodes& avoided)
      : site_(std::move(site)),
        plan_(std::move(plan)),
        policy_(policy),
        launcher_(launcher),
        driver_(driver),
        avoided_(avoided) {}

  void make(const lease::SubmitJob& order, const ClientFacts& client, Reply<MadeJob> reply);
  // Replies with the refusal. A permanent one also says what the cluster has instead.
  void explain(const Error& refusal, const lease::SubmitJob& order, std::function<void(Error)> reply);

 private:
  // The answers that a decision needs.
  struct ClusterAnswers {
    std::optional<Result<ClusterSnapshot>> cluster;
    std::optional<Result<std::vector<JobView>>> jobs;
  };
  void make_when_known(const lease::SubmitJob& order, const ClientFacts& client, const ClusterAnswers& answers,
                       const Reply<MadeJob>& reply);
  policy::GpuCounts awaited(const std::vector<JobView>& jobs);
  Result<MadeJob> made(const lease::SubmitJob& order, const protocol::OpenSession& session,
                       const policy::SchedulingContext& context);
  policy::SchedulingContext context(const SessionId& session) const;

  const Site site_;
  const WorkerPlan plan_;
  SitePolicy& policy_;
  launch::Launcher& launcher_;
  const CoreDriver& driver_;
  const AvoidedNodes& avoided_;
  std::map<LeaseId, Resources> chosen_;  // for leases that have not begun
};

}  // namespace pounce::daemon
