// A notebook's kernel: the real task core, its connections, and a user who submits, cancels and goes away. Imitates
// src/client/engine.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/lease/actions.h"
#include "core/lease/events.h"
#include "core/task/machine.h"
#include "simulator/data_link.h"
#include "simulator/planted_bugs.h"

namespace pounce::simulator {

class Daemon;

class Client {
 public:
  Client(World& world, const InstanceId& instance, const SessionId& id, Bug bug);

  // What pounced says.
  void granted(const lease::GrantWorker& grant, InterpreterNumber interpreter);
  void worker_down(const lease::TellWorkerDown& down);
  void lease_ended(const lease::TellLeaseEnded& ended);
  void request_failed(const lease::TellRequestFailed& failed);

  // What comes on its data connections.
  void happened(const task::Event& event);
  void link_lost(const task::WorkerRef& place, Epoch epoch);
  void outcome(const task::WorkerRef& place, Epoch epoch, const TaskId& task, const Outcome& outcome, bool whole);
  void answered(const task::WorkerRef& place, Epoch epoch, const TaskId& task, RemoteTaskState state);

  const SessionId& id() const { return id_; }
  int number() const { return id_.bytes().back(); }
  bool alive() const { return alive_; }
  bool stopped() const;
  std::optional<std::string> unsettled() const;
  std::string history() const;
  std::uint32_t done = 0, lost = 0, asked = 0;

 private:
  struct Grant {
    Epoch epoch;
    InterpreterNumber interpreter = 0;
  };
  struct Held {
    task::Event event;
    LeaseId lease;
    TimePoint due;
  };

  // the user (user.cc)
  void second();
  Resources resources_for(std::uint32_t gpus) const;
  void trouble();
  void submit();
  void submit_one(const Resources& resources, Millis length, Nature nature);
  void cancel_some();
  void release();
  void die();
  void close();

  void carry_out(const task::Action& action);
  void on(const task::Connect& order);
  void on(const task::Disconnect& order);
  void on(const task::SendTask& order);
  void on(const task::SendCancel& order);
  void on(const task::SendQuery& order);
  void on(const task::Acknowledge& order);
  void on(const task::Deliver& order);
  void on(const task::Fail& order);
  void on(const task::TellReach&) {}
  void on(const task::SendDemand& order);
  void arm();
  DataLink* link_at(const task::WorkerRef& place);

  void connect();
  void daemon_lost(const Wire& wire);
  void say(const lease::Event& event);
  void lose_siblings(const lease::TellLeaseEnded& ended);
  void hold_back(task::Event event, const LeaseId& lease);
  void release_held();

  World& world_;
  const InstanceId instance_;
  const SessionId id_;
  const Bug bug_;
  task::Machine machine_;
  bool alive_ = true;
  TimePoint stopped_until_{}, armed_ = TimePoint::max();
  Wire daemon_;
  std::uint64_t daemon_life_ = 0;
  std::map<task::WorkerRef, Grant> grants_;
  std::map<task::WorkerRef, std::shared_ptr<DataLink>> links_;
  std::vector<Held> held_;
  std::vector<TaskId> tasks_;          // that have not ended
  const Outcome* arriving_ = nullptr;  // while the core is told of it
  DataLink* arriving_link_ = nullptr;
  bool answering_ = false;  // while the core is told of an answer
  std::vector<Request> told_demand_;
  int age_s_ = 0;
};

}  // namespace pounce::simulator
