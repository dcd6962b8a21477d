// One simulated history of a user: two instances of pounce (say, one on each login node), their notebooks, one Slurm.
// First things go wrong, then nothing does any more, and everything must settle.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "simulator/client.h"
#include "simulator/connection.h"
#include "simulator/daemon.h"
#include "simulator/faults.h"
#include "simulator/ledger.h"
#include "simulator/planted_bugs.h"
#include "simulator/slurm.h"
#include "simulator/supervisor.h"
#include "simulator/words.h"

namespace pounce::simulator {

struct Verdict {
  std::optional<std::string> failure;
  std::uint32_t asked = 0, done = 0, lost = 0;  // tasks of the sessions that lived to the end
  std::uint64_t events = 0, leases = 0, interpreters = 0;
  bool operator==(const Verdict&) const = default;
};

std::string millis(TimePoint when);  // since the beginning

class World {
 public:
  World(std::uint64_t seed, Faults faults, Bug bug = Bug::kNone, bool told = false);
  ~World();

  Verdict live();
  std::string history() const;  // of every lease and session, to understand a failure

  // ---- for its cast -----------------------------------------------------------------------------------------------
  void fail(const std::string& what);
  void complain(const Ledger::Complaint& complaint) {
    if (complaint) fail(*complaint);
  }
  void count_event() { ++events_; }
  // A line of the history, of a history that is told. Words are made only then.
  template <class... Words>
  void note(const Words&... words) {
    if (told_) ((noted_ << millis(time.now())) << ... << words) << "\n";
  }
  bool settling() const { return settling_; }  // no new trouble, nothing new is asked for
  bool calm() const { return calm_; }          // a history in which nothing goes wrong

  Daemon& daemon(const InstanceId& instance);
  void to_daemon(const Wire& wire, const InstanceId& instance, std::uint64_t life, const lease::Event& event,
                 Connection::Repeat repeat);
  void from_worker(const Wire& wire, const InstanceId& instance, std::uint64_t life, lease::WorkerLink from,
                   const lease::Event& event, InterpreterNumber interpreter = 0);
  void ask_answer(const Wire& wire, Supervisor& asker, Epoch told);
  void kernel_gone(const InstanceId& instance);

  Interpreter* interpreter(InterpreterNumber number);  // null: it is dead
  Interpreter* reachable(InterpreterNumber number);
  void born(InterpreterNumber number, Interpreter& interpreter, Supervisor& supervisor);
  void buried(InterpreterNumber number) { interpreters_[number] = {}; }

  void start_workers(const JobView& job);
  void kill_workers(SlurmJobId job);
  void start_workers_twice(const JobView& job);
  void supervisor_left(const Supervisor& supervisor, const JobView& job, bool only_idle);
  void start_again(const Supervisor& supervisor, const JobView& job);
  LeaseId fresh_lease();
  TaskId fresh_task();
  std::uint32_t fresh_supervisor() { return static_cast<std::uint32_t>(supervisors_.size() + 1); }
  lease::WorkerLink fresh_link() { return lease::WorkerLink{++links_}; }

  Random random;
  Timeline time;
  Faults faults;
  Ledger ledger;
  Slurm slurm;

 private:
  struct Living {
    Interpreter* interpreter = nullptr;
    Supervisor* supervisor = nullptr;
  };

  void second();
  void quiet_down();
  std::optional<std::string> unsettled() const;
  void add_client(const InstanceId& instance);
  void start_supervisor(const JobView& job, WorkerIndex index);
  bool anybody_in(SlurmJobId job) const;

  const Bug bug_;
  const bool told_, calm_;
  std::ostringstream noted_;  // what was noted
  bool settling_ = false;
  std::vector<std::unique_ptr<Daemon>> daemons_;
  std::map<SessionId, std::unique_ptr<Client>> clients_;
  std::map<SlurmJobId, std::vector<Supervisor*>> by_job_;  // dead ones too
  std::vector<std::unique_ptr<Supervisor>> supervisors_;
  std::vector<Living> interpreters_;  // by number
  std::uint64_t links_ = 0, leases_ = 0, tasks_ = 0, events_ = 0;
  std::optional<std::string> failure_;
};

}  // namespace pounce::simulator
