// What really happened, whoever was told what: the simulated world's own record of each task, interpreter and lease.
// What a core says must agree with it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/curve_key.h"
#include "model/ids.h"
#include "model/job.h"
#include "pounce/error.h"
#include "simulator/timeline.h"

namespace pounce::simulator {

using InterpreterNumber = std::uint32_t;  // its key: no two of a history have the same

// As its data socket's, or its supervisor's: none has number 0.
inline PublicKey key_of(std::uint32_t number) {
  PublicKey key;
  key.bytes[0] = 1;
  for (std::size_t i = 0; i < sizeof number; ++i) key.bytes[i + 1] = static_cast<std::uint8_t>(number >> (8 * i));
  return key;
}

constexpr int number_of(const TaskId& task) { return 256 * task.bytes()[14] + task.bytes()[15]; }

enum class Nature : std::uint8_t { kPlain, kEndless, kStubborn, kDeadly, kRaising };

struct Run {
  InterpreterNumber where = 0;
  std::uint32_t attempt = 0;
  TimePoint begun;
  bool ended = false;
  TimePoint end;
};

struct TaskRecord {
  SessionId session;
  std::uint32_t gpus = 1, retries = 0;
  Nature nature = Nature::kPlain;
  Millis length{};
  bool large = false;  // its result takes more than one message
  bool cancel_asked = false;
  std::vector<InterpreterNumber> sent_to;
  std::vector<Run> runs;
  bool delivered = false, failed = false;
  bool over() const { return delivered || failed; }
};

struct InterpreterRecord {
  LeaseId lease;
  bool dead = false, crashed = false;  // dead: also one that was left behind
  bool left_behind = false;            // its job was started a second time
  std::set<SessionId> dismissed;       // their tasks were forgotten there
};

struct LeaseRecord {
  std::set<JobEnd> ends;  // how its job ended in Slurm, each time that it ran
  bool requeued = false;
  bool wrongly_silent = false;
  bool ended_unheard = false;  // by a person who did not wait for its worker, or a pounced that has not heard that one
                               // since its own start
};

struct Outcome {
  std::optional<std::uint32_t> run;  // nullopt: it never ran
  bool cancelled = false;
};

class Ledger {
 public:
  using Complaint = std::optional<std::string>;  // what a core did that it must not do

  TaskRecord& add(const TaskId& task) { return tasks_[task]; }
  TaskRecord& task(const TaskId& task) { return tasks_.at(task); }
  InterpreterNumber add_interpreter(const LeaseId& lease);
  InterpreterRecord& interpreter(InterpreterNumber number) { return interpreters_.at(number); }
  LeaseRecord& lease(const LeaseId& lease) { return leases_[lease]; }
  void daemon_down(bool is_down) { daemon_was_down_ |= is_down; }
  void job_started_twice() { started_twice_ = true; }

  Complaint started(const TaskId& task, InterpreterNumber where, std::uint32_t attempt, TimePoint now);
  Complaint delivered(const TaskId& task, const SessionId& to, const Outcome& outcome);
  Complaint failed(const TaskId& task, const SessionId& to, const Error& error);

 private:
  bool in_two_runs(InterpreterNumber where) const;
  bool overtaken(const TaskRecord& task, InterpreterNumber where, std::uint32_t attempt);
  Complaint untrue(const TaskRecord& task, const Error& error);
  Complaint untrue_of_lease(const LeaseId& lease, const Error& error);
  bool sent_to(const TaskRecord& task, bool InterpreterRecord::* was) const;

  std::unordered_map<TaskId, TaskRecord> tasks_;
  std::vector<InterpreterRecord> interpreters_;
  std::map<LeaseId, LeaseRecord> leases_;
  bool daemon_was_down_ = false, started_twice_ = false;
};

}  // namespace pounce::simulator
