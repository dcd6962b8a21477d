// One supervisor of a job with its interpreter, as the daemon and the clients see it.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "core/lease/events.h"
#include "simulator/timeline.h"
#include "pounce/job.h"

namespace pounce::simulator {

class World;
class Client;

class Supervisor {
 public:
  Supervisor(World& world, const JobView& job, WorkerIndex index, Epoch first);

  // The client's direct connection. False: refused, nothing was started.
  bool run(const SessionId& session, RequestId request, Millis length);

  void admit(const SessionId& session) { admitted_.insert(session); }
  void dismiss(const SessionId& session);
  void end(bool only_if_idle);
  void die(bool cut = true);  // its job's processes were killed

  lease::WorkerLink link() const { return link_; }
  bool alive() const { return alive_; }
  WorkerIndex index() const { return index_; }
  const LeaseId& lease() const { return lease_; }

 private:
  struct Task {
    SessionId session;
    RequestId request;
  };

  void second();
  void hello();
  void beat();
  void crash();
  void interpreter_up();
  void interpreter_down();
  void leave(bool only_idle);
  void lose_tasks();
  bool cut_off() const;
  template <class E>
  void say(E event);

  World& world_;
  const InstanceId instance_;
  const LeaseId lease_;
  const JobView job_;
  const WorkerIndex index_;
  bool alive_ = true, ready_ = false, hangs_ = false;
  lease::WorkerLink link_{};
  std::uint64_t daemon_life_ = 0;  // 0: not connected
  Epoch epoch_;
  std::set<SessionId> admitted_;
  std::map<std::uint64_t, Task> tasks_;
  std::uint64_t next_task_ = 1;
  TimePoint cut_until_{}, daemon_seen_, client_seen_;
  TimePoint spoken_{};  // the connection keeps the order of its messages
  int age_s_ = 0;
};

}  // namespace pounce::simulator
