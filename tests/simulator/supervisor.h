// The first process of a job's worker: it keeps an interpreter alive and tells pounced what becomes of it. Imitates
// src/worker/supervisor.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/lease/events.h"
#include "model/job.h"
#include "simulator/interpreter.h"

namespace pounce::simulator {

class Supervisor {
 public:
  Supervisor(World& world, const JobView& job, WorkerIndex index, Epoch first, Bug bug);

  // What pounced says.
  void admit(const SessionId& session);
  void dismiss(const SessionId& session);
  void end(bool only_if_idle);
  void confirmed(Epoch told);  // deaths up to this one have arrived

  // What its interpreter does.
  void crash();
  void gave_up();
  void activity(std::uint32_t running, NamespaceState state, bool stays);
  void interpreter_left();

  void leave_behind();  // its job was started a second time: Slurm ends these processes when it finds them
  void die();           // the job's processes were killed
  bool alive() const { return alive_; }
  bool reachable() const;
  NamespaceState state() const { return state_; }
  bool heard_for(Duration time) const;  // an unbroken connection to pounced, and nothing wrong with it
  WorkerIndex index() const { return index_; }
  const LeaseId& lease() const { return lease_; }

 private:
  void second();
  void trouble();
  void hello();
  void lost(const Wire& wire);
  void tell_deaths();
  void beat();
  void start_interpreter();
  void announce();
  void interpreter_died(const Error& error);
  void tell_departure();
  lease::InterpreterDied down(const Error& error, const std::vector<TaskId>& started, bool restarting) const;
  void bury(bool crashed);
  void note_left_behind();
  void press_on();
  void leave(bool only_idle);
  bool watchdog_bites() const;
  void say(const lease::Event& event);
  template <class Do>
  void later(Duration wait, Do what);

  World& world_;
  const InstanceId instance_;
  const LeaseId lease_;
  const JobView job_;
  const WorkerIndex index_;
  const Bug bug_;
  const std::uint32_t life_;  // no two supervisors of a history have the same
  bool alive_ = true, hangs_ = false, ending_ = false, leaving_ = false, left_behind_ = false;
  Wire wire_;
  lease::WorkerLink own_link_{}, link_{};  // the second is what it says
  std::uint64_t daemon_life_ = 0;
  Epoch epoch_;
  std::unique_ptr<Interpreter> interpreter_;
  InterpreterNumber number_ = 0;
  std::uint32_t running_ = 0;
  NamespaceState state_ = NamespaceState::kSaved;
  TimePoint leave_by_{};
  std::set<SessionId> admitted_;
  std::map<SessionId, TimePoint> dismissed_at_;
  std::vector<lease::InterpreterDied> untold_;
  TimePoint cut_until_{}, daemon_seen_, connected_since_{};
  int age_s_ = 0;
};

}  // namespace pounce::simulator
