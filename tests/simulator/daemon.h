// A pounced around the real LeaseCore: it keeps the journal, carries the actions out, crashes and comes back.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/lease/lease_core.h"
#include "simulator/connection.h"
#include "simulator/ledger.h"
#include "simulator/planted_bugs.h"

namespace pounce::simulator {

class Client;
class Supervisor;

class Daemon {
 public:
  Daemon(World& world, const InstanceId& instance, Bug bug);

  void start();
  void crash();
  void second();  // what it owes to those who wait
  void connected(Client& client, const Wire& wire);
  void connected(lease::WorkerLink link, Supervisor& supervisor, const Wire& wire);
  void hear(const lease::Event& event);
  void hear_worker(lease::WorkerLink from, const lease::Event& event, InterpreterNumber interpreter = 0);
  std::uint64_t life() const { return life_; }  // 0: not running
  const InstanceId& instance() const { return instance_; }
  int number() const { return instance_.bytes().back(); }
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
  void on(const lease::YieldSteps&) {}  // no task here is such a loop
  void on(const lease::GrantWorker& action);
  void on(const lease::TellStatus&) {}
  void on(const lease::TellWorkerDown& action);
  void on(const lease::TellLeaseEnded& action);
  void on(const lease::TellRequestFailed& action);
  void on(const lease::EndDaemon&) {}
  template <class Tell>
  void to_client(const SessionId& session, Tell tell);
  template <class Tell>
  void to_worker(lease::WorkerLink link, Tell tell);
  void check_silence(const LeaseId& lease) const;
  bool owes_a_lease() const;
  void arm();
  void compare_journal() const;
  template <class T>
  auto back_here(T make_event);  // a reply that is dropped when this life is over

  struct ClientPeer {
    Client* client;
    Wire wire;
  };
  struct WorkerPeer {
    Supervisor* supervisor;
    Wire wire;
    bool named = false;      // it has said which worker it is
    bool sent_away = false;  // it was told to end, whatever runs there
  };
  struct Introduced {
    Epoch epoch;
    InterpreterNumber number = 0;
  };

  World& world_;
  const InstanceId instance_;
  const Bug bug_;
  std::unique_ptr<lease::LeaseCore> core_;
  std::uint64_t life_ = 0, lives_ = 0;
  TimePoint armed_ = TimePoint::max();
  const bool sees_queue_;  // Slurm always answers, and hides nothing
  std::optional<TimePoint> owes_since_;
  std::vector<lease::JournalRecord> on_disk_, in_cache_;
  std::set<LeaseId> cancelled_, told_ends_;
  std::map<SessionId, ClientPeer> clients_;
  std::map<lease::WorkerLink, WorkerPeer> workers_;
  std::map<std::pair<LeaseId, WorkerIndex>, Introduced> interpreters_;
};

}  // namespace pounce::simulator
