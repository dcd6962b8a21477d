// The Python of one worker: the real exec core, its tasks' runs, and what it keeps for its clients. Imitates
// src/worker/interpreter: the clients that it admits, their connections, the kept outcomes and the run page.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/exec/exec_core.h"
#include "core/task/events.h"
#include "model/worker_report.h"
#include "simulator/connection.h"
#include "simulator/ledger.h"
#include "simulator/planted_bugs.h"

namespace pounce::simulator {

class DataLink;
class Supervisor;

class Interpreter {
 public:
  Interpreter(World& world, Supervisor& supervisor, InterpreterNumber number, Bug bug);
  ~Interpreter();  // it is dead: its connections break

  // What a client says on its connection.
  bool admits(const SessionId& session) const { return seats_.contains(session); }
  void attach(const SessionId& session, const std::shared_ptr<DataLink>& link, const Wire& wire);
  void hear(const SessionId& session, const Wire& from, const exec::Event& event);

  // What its supervisor says.
  void admit(const SessionId& session) { seats_[session]; }
  void dismiss(const SessionId& session);
  void end();
  void end_if_idle();

  void stop(Millis length);  // its process reads nothing for a while
  void cut(Millis noticed_within);
  bool stopped() const;
  std::uint32_t unfinished() const { return core_.unfinished(); }
  std::optional<TimePoint> client_seen() const { return client_seen_; }
  std::vector<TaskId> started() const { return {page_.begin(), page_.end()}; }  // and not acknowledged
  bool has_tasks_of(const SessionId& session) const;

 private:
  struct Seat {
    std::shared_ptr<DataLink> link;
    Wire wire;  // null: not attached
  };

  bool gives_up(const exec::StatesRequested& asked) const;  // what its client no longer counts on
  void tell_core(const exec::Event& event);
  void perform(const exec::StartTask& action);
  void perform(const exec::TellStarted& action);
  void perform(const exec::InterruptTask& action);
  void perform(const exec::GiveUp& action);
  void perform(const exec::FailTask& action);
  void perform(const exec::SendOutcome& action);
  void perform(const exec::AnswerStates& action);
  void perform(const exec::ForgetTask& action);
  void perform(const exec::TellActivity& action);
  void interrupt();
  void run_ended(const TaskId& task, bool interrupted);
  void rest();  // between two tasks
  void save();
  void leave();  // for good
  bool owes() const;
  void gone();
  void tell_activity(bool stays = false);
  void tell_state(NamespaceState state);
  template <class Say>
  void say(Say what);
  void send_outcome(const Seat& seat, const TaskId& task);
  void arm();
  template <class... Words>
  void note(const Words&... words);
  template <class Do>
  void later(Duration wait, Do what);  // unless it is dead by then

  World& world_;
  Supervisor& supervisor_;
  const InterpreterNumber number_;
  const Bug bug_;
  exec::ExecCore core_;
  std::map<SessionId, Seat> seats_;
  std::map<TaskId, Outcome> outcomes_;
  std::set<TaskId> arrived_, page_, acknowledged_;
  std::optional<std::uint32_t> run_;
  bool ending_ = false, saving_ = false, left_ = false, owing_ = false;
  NamespaceState state_ = NamespaceState::kSaved;
  TimePoint stopped_until_{}, said_{}, outcome_at_{}, armed_ = TimePoint::max();
  std::optional<TimePoint> client_seen_;
};

}  // namespace pounce::simulator
