// One user of a simulated day: their pounced's lease core, and their use of it. Messages take no time here
// (tests/simulator simulates lost messages). Thread: any.
#pragma once

#include <map>
#include <vector>

#include "core/lease/lease_core.h"
#include "policy_simulator/batch_system.h"

namespace pounce::policy_simulator {

class User {
 public:
  User(std::uint32_t number, const Site& site, Timeline& time, BatchSystem& slurm, Day& day,
       std::map<std::string, std::vector<Duration>>& waits);
  void live(TimePoint end);  // begins new work until `end`
  void check_over();

 private:
  // A kernel or a script: one request, one call at a time.
  struct Work {
    Resources resources;
    std::uint32_t calls = 1;                // remaining
    Millis shortest{}, longest{}, pause{};  // of a call; pause: between two
    LeaseId lease;                          // serves it, and may be idle
    bool waits = false, runs = false;
    std::uint64_t turn = 0;  // of the running call: ends of earlier calls are ignored
    TimePoint since{};
  };

  Millis drawn(Millis least, Millis most);  // biased to short times
  void begin_something(TimePoint end);
  void open(Resources resources, std::uint32_t calls, Millis shortest, Millis longest, Millis pause);
  void call(const SessionId& session);
  void run(const SessionId& session, const LeaseId& lease);
  void finish(const SessionId& session, std::uint64_t turn);
  void withdraw(const SessionId& session, std::uint64_t turn);
  void close(const SessionId& session);
  void demand(const SessionId& session);
  void beat(const LeaseId& lease, std::uint32_t running);
  Work* work(const SessionId& session);

  void hear(const lease::Event& event);
  void arm();
  void worker_up(const JobView& job);
  void worker_gone(const JobView& job);
  template <class T>
  void on(const T&) {}  // ignores other orders
  void on(const lease::SubmitJob& order);
  void on(const lease::CancelJob& order);
  void on(const lease::PollJobs& order);
  void on(const lease::ReconcileJobs& order);
  void on(const lease::TakeQueueSnapshot& order);
  void on(const lease::EndWorker& order);
  void on(const lease::YieldSteps&) {}  // there are no such loops here
  void on(const lease::GrantWorker& order);
  void on(const lease::TellLeaseEnded& order);
  void on(const lease::TellRequestFailed& order);

  const std::uint32_t number_;
  const Site& site_;
  Timeline& time_;
  BatchSystem& slurm_;
  Day& day_;
  std::map<std::string, std::vector<Duration>>& waits_;
  Random random_;
  lease::LeaseCore core_;
  std::map<SessionId, Work> works_;
  std::map<LeaseId, SlurmJobId> workers_;
  std::uint64_t sessions_ = 0;
  std::vector<lease::Event> events_;  // an order's answer is handled after the event that caused it
  bool hearing_ = false;
  TimePoint armed_ = TimePoint::max();
};

}  // namespace pounce::policy_simulator
