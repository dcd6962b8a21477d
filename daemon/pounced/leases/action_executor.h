// Carries out what the core decides: journal, launcher, messages to workers and clients. An order for a peer that is
// gone is dropped; the core learns of the loss by its own event. Thread: loop.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/lease/actions.h"
#include "launch/launcher.h"
#include "pounced/daemon_state.h"
#include "pounced/leases/core_driver.h"
#include "pounced/leases/job_builder.h"
#include "pounced/leases/lease_logs.h"
#include "pounced/leases/site_policy.h"
#include "pounced/net/control_channel.h"
#include "pounced/net/peers.h"
#include "pounced/startup/folders.h"
#include "pounced/storage/journal.h"

namespace pounce::daemon {

// Tells workers when their job's time ends, as soon as the batch system has told us and whenever it changes: what a
// task reads as pounce.time_left().
class Walltimes {
 public:
  Walltimes(Peers& peers, const CoreDriver& driver, ControlChannel& control)
      : peers_(peers), driver_(driver), control_(control) {}

  // A client's status may come from a changed end time, an admission from a new worker.
  void hear(const lease::Action& action);

 private:
  void tell(Peer& worker);

  Peers& peers_;
  const CoreDriver& driver_;
  ControlChannel& control_;
};

struct ActionContext {
  InstanceId instance;
  std::vector<InstanceId> previous_instances;  // of earlier boots: their jobs count as ours
  Folders folders;
  bool stand_in = false;  // this machine's CPU stands in for GPUs
  std::function<void()> end_daemon;
};

class ActionExecutor {
 public:
  ActionExecutor(ActionContext context, DaemonState& state, ControlChannel& control, Journal& journal,
                 launch::Launcher& launcher, CoreDriver& driver, JobBuilder& jobs, SitePolicy& policy, JobNotes& notes)
      : context_(std::move(context)),
        state_(state),
        control_(control),
        journal_(journal),
        launcher_(launcher),
        driver_(driver),
        jobs_(jobs),
        policy_(policy),
        notes_(notes) {}

  void carry_out(const lease::Action& action);

 private:
  using Views = Result<std::vector<JobView>>;

  void act(const lease::RecordIntent& order);
  void act(const lease::RecordOutcome& order);
  void act(const lease::SubmitJob& order);
  void act(const lease::CancelJob& order);
  void act(const lease::PollJobs& order);
  void act(const lease::TakeQueueSnapshot& order);
  void act(const lease::ReconcileJobs& order);
  void act(const lease::AdmitClient& order);
  void act(const lease::DismissClient& order);
  void act(const lease::EndWorker& order);
  void act(const lease::YieldSteps& order);
  void act(const lease::GrantWorker& order);
  void act(const lease::TellStatus& order);
  void act(const lease::TellWorkerDown& order);
  void act(const lease::TellLeaseEnded& order);
  void act(const lease::TellRequestFailed& order);
  void act(const lease::EndDaemon& order);
  void to_worker(const LeaseId& lease, lease::WorkerLink link, const protocol::Header& header);
  void to_client(const SessionId& session, const protocol::Header& header);
  void reconcile_next(const lease::ReconcileJobs& order, std::size_t previous_instance, std::vector<JobView> found);
  void submit(const lease::SubmitJob& order, MadeJob made);
  void submission_failed(const lease::SubmitJob& order, const Error& error);
  Views as_ours(Views views) const;
  std::string devices_shown(const lease::TellStatus& status) const;

  const ActionContext context_;
  DaemonState& state_;
  ControlChannel& control_;
  Journal& journal_;
  launch::Launcher& launcher_;
  CoreDriver& driver_;
  JobBuilder& jobs_;
  SitePolicy& policy_;
  JobNotes& notes_;
  std::map<LeaseId, Error> not_journalled_;  // these leases are not submitted
};

}  // namespace pounce::daemon
