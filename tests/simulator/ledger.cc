#include "simulator/ledger.h"

#include <algorithm>

namespace pounce::simulator {

InterpreterNumber Ledger::add_interpreter(const LeaseId& lease) {
  interpreters_.emplace_back().lease = lease;
  return static_cast<InterpreterNumber>(interpreters_.size() - 1);
}

Ledger::Complaint Ledger::started(const TaskId& id, InterpreterNumber where, std::uint32_t attempt, TimePoint now) {
  TaskRecord& task = tasks_.at(id);
  if (task.delivered && !in_two_runs(where) && !overtaken(task, where, attempt))
    return "a task runs again after its outcome was delivered";
  if (std::ranges::count(task.runs, attempt, &Run::attempt) > 0)
    return "attempt " + std::to_string(attempt) + " of a task starts twice (I4)";
  task.runs.push_back({.where = where, .attempt = attempt, .begun = now, .end = {}});
  if (task.runs.size() > 1 + task.retries) return "a task starts more often than it may (I4)";
  return std::nullopt;
}

// The job's first processes live on beside the second ones: nobody can call back what either were sent. A pounced that
// was started anew meanwhile knows no order of them, and may hear the first ones last: then one of the second ones has
// to go.
bool Ledger::in_two_runs(InterpreterNumber where) const {
  return std::ranges::any_of(interpreters_, [&](const InterpreterRecord& other) {
    return other.left_behind && other.lease == interpreters_[where].lease;
  });
}

// `release --now`, and a new pounced whom nobody wants anything of, give a lease back before its worker has answered.
// One that was cut off or stopped just then reads an earlier attempt after a later one has ended elsewhere: what
// `retries=` allows.
bool Ledger::overtaken(const TaskRecord& task, InterpreterNumber where, std::uint32_t attempt) {
  return leases_[interpreters_[where].lease].ended_unheard && !task.runs.empty() && attempt < task.runs.back().attempt;
}

Ledger::Complaint Ledger::delivered(const TaskId& id, const SessionId& to, const Outcome& outcome) {
  TaskRecord& task = tasks_.at(id);
  if (task.session != to) return "a session is given another one's outcome (I11)";
  if (task.over()) return "a task ends twice (I5)";
  if (outcome.run && !task.runs.at(*outcome.run).ended) return "the result of a run that has not ended";
  if (outcome.cancelled && !task.cancel_asked) return "a task counts as cancelled, and nobody cancelled it";
  task.delivered = true;
  return std::nullopt;
}

Ledger::Complaint Ledger::failed(const TaskId& id, const SessionId& to, const Error& error) {
  TaskRecord& task = tasks_.at(id);
  if (task.session != to) return "a session is told of another one's task (I11)";
  if (task.over()) return "a task ends twice (I5)";
  task.failed = true;
  return untrue(task, error);
}

bool Ledger::sent_to(const TaskRecord& task, bool InterpreterRecord::* was) const {
  return std::ranges::any_of(task.sent_to, [&](InterpreterNumber number) { return interpreters_[number].*was; });
}

Ledger::Complaint Ledger::untrue(const TaskRecord& task, const Error& error) {
  const auto lease = error.context.find("lease");
  const bool of_lease = lease != error.context.end();
  switch (error.code) {
    case ErrorCode::kCancelled:
      if (!task.cancel_asked) return "a task counts as cancelled, and nobody cancelled it";
      return std::nullopt;
    case ErrorCode::kUnsatisfiable:
      if (task.gpus <= 8) return "a request that could be met was refused";
      return std::nullopt;
    case ErrorCode::kDaemonUnavailable:
      if (!daemon_was_down_) return "pounced is said to be unavailable, and it never was";
      return std::nullopt;
    case ErrorCode::kWorkerCrashed:
      if (error.cause.code == CauseCode::kPythonStartedAnew && started_twice_)
        return std::nullopt;  // the first run lives on, unseen
      if (!task.sent_to.empty() && !sent_to(task, &InterpreterRecord::dead))
        return "a worker is said to have crashed, and it lives";
      return std::nullopt;
    case ErrorCode::kLost:
      if (error.cause.code == CauseCode::kForgotten) {
        const auto dismissed = [&](InterpreterNumber at) { return interpreters_[at].dismissed.contains(task.session); };
        if (std::ranges::none_of(task.sent_to, dismissed))
          return "a task counts as forgotten, and its worker was never told to forget it";
        return std::nullopt;
      }
      if (error.cause.code == CauseCode::kWorkerSilent && of_lease)
        if (leases_[*LeaseId::from_hex(lease->second)].wrongly_silent)
          return "a worker is said to have been silent, and it was heard";
      if (task.sent_to.empty() && !of_lease) return "a task that was never sent counts as one that may have run";
      return std::nullopt;
    default:
      return of_lease ? untrue_of_lease(*LeaseId::from_hex(lease->second), error) : std::nullopt;
  }
}

Ledger::Complaint Ledger::untrue_of_lease(const LeaseId& id, const Error& error) {
  const LeaseRecord& lease = leases_[id];
  const auto ended_by = [&](JobEnd end) -> Complaint {
    if (lease.ends.contains(end)) return std::nullopt;
    return "lease " + id.hex() + " is said to have ended as " + std::string(wire_name(error.code)) + ", and it did not";
  };
  switch (error.code) {
    case ErrorCode::kPreempted:
      return lease.requeued ? std::nullopt : ended_by(JobEnd::kPreempted);
    case ErrorCode::kNodeFailed:
      return lease.requeued ? std::nullopt : ended_by(JobEnd::kNodeFail);
    case ErrorCode::kWalltimeReached:
      return ended_by(JobEnd::kTimeout);
    case ErrorCode::kOutOfMemory:
      return ended_by(JobEnd::kOutOfMemory);
    case ErrorCode::kJobCancelled:
      return ended_by(JobEnd::kCancelled);
    default:
      return std::nullopt;
  }
}

}  // namespace pounce::simulator
