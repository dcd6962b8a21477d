// Carries out what the core decides: journal, launcher, messages to workers and clients. An order for somebody who is
// gone is dropped; the core learns of the loss by its own event. Thread: loop.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/lease/actions.h"
#include "launch/launcher.h"
#include "pounced/books.h"
#include "pounced/core_driver.h"
#include "pounced/folders.h"
#include "pounced/hall.h"
#include "pounced/job_maker.h"
#include "pounced/journal.h"
#include "pounced/site_policy.h"

namespace pounce::daemon {

struct OrderContext {
  InstanceId instance;
  std::vector<InstanceId> predecessors;  // of earlier boots: their jobs count as ours
  Folders folders;
  bool stand_in = false;  // GPUs are this machine's CPU
  std::function<void()> end_daemon;
};

class Orders {
 public:
  Orders(OrderContext context, Books& books, Hall& hall, Journal& journal, launch::Launcher& launcher,
         CoreDriver& driver, JobMaker& jobs, SitePolicy& policy)
      : context_(std::move(context)),
        books_(books),
        hall_(hall),
        journal_(journal),
        launcher_(launcher),
        driver_(driver),
        jobs_(jobs),
        policy_(policy) {}

  void carry_out(const lease::Action& action);

 private:
  using Views = Result<std::vector<JobView>>;

  void act(const lease::RecordIntent& order);
  void act(const lease::RecordOutcome& order);
  void act(const lease::SubmitJob& order);
  void act(const lease::CancelJob& order);
  void act(const lease::PollJobs& order);
  void act(const lease::LookAtQueue& order);
  void act(const lease::SweepJobs& order);
  void act(const lease::AdmitClient& order);
  void act(const lease::DismissClient& order);
  void act(const lease::EndWorker& order);
  void act(const lease::GrantWorker& order);
  void act(const lease::TellStatus& order);
  void act(const lease::TellWorkerDown& order);
  void act(const lease::TellLeaseEnded& order);
  void act(const lease::TellWantFailed& order);
  void act(const lease::EndDaemon& order);
  void note_use(const LeaseId& lease);
  void to_worker(const LeaseId& lease, lease::WorkerLink link, const protocol::Header& header);
  void to_client(const SessionId& session, const protocol::Header& header);
  void sweep_next(std::size_t predecessor, std::vector<JobView> found);
  void submission_failed(const lease::SubmitJob& order, const Error& error);
  Views as_ours(Views views) const;
  std::string devices_shown(const lease::TellStatus& status) const;

  const OrderContext context_;
  Books& books_;
  Hall& hall_;
  Journal& journal_;
  launch::Launcher& launcher_;
  CoreDriver& driver_;
  JobMaker& jobs_;
  SitePolicy& policy_;
  std::map<LeaseId, Error> not_journalled_;  // their submission does not happen
  std::string noted_;                        // the last comment that was sent
};

}  // namespace pounce::daemon
