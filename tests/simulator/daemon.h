// A pounced around the real LeaseCore: it keeps the journal, carries the actions out, crashes and comes back.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "core/lease/lease_core.h"
#include "simulator/faults.h"

namespace pounce::simulator {

class World;

class Daemon {
 public:
  Daemon(World& world, const InstanceId& instance, Mutant mutant);

  void start();
  void crash();
  void hear(const lease::Event& event);
  std::uint64_t life() const { return life_; }  // 0: not running
  const InstanceId& instance() const { return instance_; }
  const lease::LeaseCore& core() const { return *core_; }

 private:
  void carry_out(const lease::Action& action);
  void on(const lease::RecordIntent& action);
  void on(const lease::RecordOutcome& action);
  void on(const lease::SubmitJob& action);
  void on(const lease::CancelJob& action);
  void on(const lease::PollJobs& action);
  void on(const lease::TakeQueueSnapshot& action);
  void on(const lease::ReconcileJobs& action);
  void on(const lease::AdmitClient& action);
  void on(const lease::DismissClient& action);
  void on(const lease::EndWorker& action);
  void on(const lease::GrantWorker& action);
  void on(const lease::TellStatus&) {}
  void on(const lease::TellWorkerDown&) {}
  void on(const lease::TellLeaseEnded& action);
  void on(const lease::TellRequestFailed& action);
  void on(const lease::EndDaemon&) {}
  void arm();
  void compare_journal() const;
  template <class T>
  auto back_here(T make_event);  // a reply that is dropped when this life is over

  World& world_;
  const InstanceId instance_;
  const Mutant mutant_;
  std::unique_ptr<lease::LeaseCore> core_;
  std::uint64_t life_ = 0, lives_ = 0;
  TimePoint armed_ = TimePoint::max();
  std::vector<lease::JournalRecord> on_disk_, in_cache_;
  std::set<LeaseId> cancelled_;
};

}  // namespace pounce::simulator
