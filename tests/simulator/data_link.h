// A client's connection to one interpreter: it connects, attaches, notices that it was cut, and comes back. Imitates
// src/client/worker_link.
#pragma once

#include <memory>
#include <optional>

#include "core/exec/exec_core.h"
#include "core/task/events.h"
#include "simulator/connection.h"
#include "simulator/ledger.h"

namespace pounce::simulator {

class Client;

class DataLink : public std::enable_shared_from_this<DataLink> {
 public:
  DataLink(World& world, Client& client, const task::WorkerRef& place, Epoch epoch, InterpreterNumber to)
      : world_(world), client_(client), place_(place), epoch_(epoch), to_(to) {}

  void open();
  void close();
  void send(exec::Event event);
  void repeat(const TaskId& task);  // as if it had been sent twice, and one of them had taken long
  void stop(TimePoint until);
  void stall(Millis length);
  bool connected() const { return attached_; }
  Epoch epoch() const { return epoch_; }
  InterpreterNumber to() const { return to_; }
  TimePoint undisturbed_since() const;

  // What the interpreter says.
  void attached(const Wire& wire);
  void started(const TaskId& task);
  void outcome(const Wire& wire, const TaskId& task, const Outcome& outcome, bool whole);
  void answered(const exec::AnswerStates& answer);

 private:
  template <class... Words>
  void note(const Words&... words);
  void try_again(Millis pause);
  void lost(const Wire& wire);

  World& world_;
  Client& client_;
  const task::WorkerRef place_;
  const Epoch epoch_;
  const InterpreterNumber to_;
  Wire wire_;
  TimePoint attached_at_{};
  bool attached_ = false, closed_ = false;
  Millis pause_{5};
};

}  // namespace pounce::simulator
