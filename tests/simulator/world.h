// One simulated life of a user: two instances of pounce (say, one on each login node), their notebooks, one Slurm. First
// things go wrong, then nothing does any more, and everything must settle.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/daemon.h"
#include "simulator/client.h"
#include "simulator/slurm.h"
#include "simulator/supervisor.h"
#include "simulator/faults.h"
#include "simulator/timeline.h"

namespace pounce::simulator {

struct Outcome {
  std::optional<std::string> failure;
  std::uint32_t asked = 0, done = 0, lost = 0, failed = 0;  // tasks of the sessions that lived to the end
  std::uint64_t events = 0, submits = 0, leases = 0;
};

class World {
 public:
  World(std::uint64_t seed, Faults faults, Mutant mutant = Mutant::kNone);
  ~World();

  Outcome live();
  std::string history() const;  // of every lease and session, to understand a failure

  // ---- for the fakes ----------------------------------------------------------------------------------------------
  void fail(const std::string& what);
  Daemon& daemon(const InstanceId& instance);
  bool run_somewhere(const LeaseId& lease, const SessionId& session, RequestId request, Millis length);
  void deliver(Daemon& daemon, std::uint64_t life, TimePoint when, const lease::Event& event);
  void to_worker(const LeaseId& lease, lease::WorkerLink link, std::function<void(Supervisor&)> what);
  void to_session(const SessionId& session, std::function<void(Client&)> what);
  void task_ended(const SessionId& session, RequestId request, bool done);
  void start_workers(const JobView& job);
  void kill_workers(SlurmJobId job);
  void worker_left(const Supervisor& worker, const JobView& job, bool only_idle);
  void start_again(const Supervisor& worker, const JobView& job);
  LeaseId fresh_lease();
  lease::WorkerLink fresh_link() { return lease::WorkerLink{++links_}; }
  bool settling() const { return settling_; }
  bool calm() const { return settling_; }  // no new trouble

  Random random;
  Timeline time;
  Faults faults;
  Slurm slurm;

 private:
  void second();
  void quiet_down();
  void check_settled();
  void add_session();
  void start_worker(const JobView& job, WorkerIndex index);
  bool anybody_in(SlurmJobId job) const;

  const Mutant mutant_;
  bool settling_ = false;
  std::vector<std::unique_ptr<Daemon>> daemons_;
  std::map<SessionId, std::unique_ptr<Client>> sessions_;
  std::map<SlurmJobId, std::vector<Supervisor*>> by_job_;  // dead ones too
  std::vector<std::unique_ptr<Supervisor>> workers_;
  std::uint64_t links_ = 0, leases_ = 0;
  std::optional<std::string> failure_;
  std::uint64_t events_ = 0;
};

}  // namespace pounce::simulator
