// The tasks of all clients: core/exec decides what becomes of them, the main thread runs one at a time. Thread: the
// leader token's holder, except where noted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "core/exec/exec_core.h"
#include "model/ids.h"
#include "protocol/messages.h"
#include "worker/common/supervisor_channel.h"
#include "worker/interpreter/clients.h"
#include "worker/interpreter/live_output.h"
#include "worker/interpreter/object_service.h"
#include "worker/interpreter/outcomes.h"
#include "worker/interpreter/run_job.h"
#include "worker/interpreter/supervisor_link.h"

namespace pounce::worker {

// The main thread's task: what it is to take, what the run page says of it, and how it is interrupted.
class MainThreadTask {
 public:
  // interrupt: sends SIGINT to the main thread. nudge: ends the system call that it is in.
  MainThreadTask(RunPage page, std::function<void()> interrupt, std::function<void()> nudge);

  void begin(const TaskId& task, std::int64_t received_ns);  // before the job is made, which may end the process
  void hand_over(Job job) { job_ = std::move(job); }
  std::optional<Job> take() { return std::exchange(job_, std::nullopt); }
  bool waits() const { return job_.has_value(); }  // the main thread has not taken it
  void give_back();                                // and will not
  void end();
  std::int64_t received_ns() const { return received_ns_; }
  // The task, once, if its client does not know yet that it runs.
  std::optional<TaskId> take_untold() { return std::exchange(untold_, std::nullopt); }

  void interrupt();
  bool take_interrupt_sent() { return std::exchange(interrupt_sent_, false); }
  void nudge(TimePoint now);
  TimePoint nudge_at() const { return nudge_at_; }
  void kill_process();  // the supervisor learns from the run page why

  void acknowledged(const TaskId& task) { page_.acknowledged(task); }
  // nullopt: too many for a complete list.
  std::optional<std::vector<TaskId>> unacknowledged() const { return page_.unacknowledged(); }

 private:
  RunPage page_;
  const std::function<void()> interrupt_, nudge_;
  std::optional<Job> job_;
  std::int64_t received_ns_ = 0;
  std::optional<TaskId> untold_;
  bool interrupt_sent_ = false;
  int nudges_left_ = 0;
  TimePoint nudge_at_ = TimePoint::max();
};

class TaskRunner {
 public:
  TaskRunner(MainThreadTask run, std::string node, Clients& clients, ObjectService& objects, LiveOutput& output,
             SupervisorLink& supervisor);

  // The main thread's side.
  void runner_ready();
  void runner_away();  // nothing starts until the runner is ready again
  // As ending(). Once true, the main thread runs no more tasks: none starts, and nothing interrupts it.
  bool runner_over() { return runner_over_ = ending_; }
  std::optional<Job> take_job() { return run_.take(); }
  // Ends the run. No SIGINT is sent for it any more. True when one was sent while it ran.
  bool end_run(const TaskId& task, JobResult result);
  bool cancel_asked(const TaskId& task) const { return ending_ || core_.cancel_asked(task); }
  // The task that runs is interrupted so long before the end of the job's time, at most this share of what is left when
  // the end is known, and once more at half of that.
  void interrupt_before_end(Duration before, double share = 1.0);
  int limit_reached() const { return limit_reached_; }  // so many times; any thread, without the leader token
  void remove_when_acknowledged(const TaskId& task, std::string file);
  // The supervisor told the worker to end, or is gone; any thread, without the leader token.
  bool ending() const { return ending_; }
  bool wanted() const { return wanted_; }  // a task waits, or the worker ends; likewise

  void on(const protocol::Task& task, const DataMessage& message);
  void on(const protocol::Ack& ack, const DataMessage& message);
  void on(const protocol::Query& query, const DataMessage& message);
  void on(const protocol::CancelTask& cancel, const DataMessage& message);
  void on(const protocol::RunDetached& order);
  void dismiss(const SessionId& session);
  void end();
  void tell_leaving(ClientSeat& seat);  // which tasks an ending worker may have run

  void begin_turn();
  void pass_time(TimePoint now);
  TimePoint next_deadline() const;
  // False: the worker may end. An outcome that is on its way to an attached client counts, and from now on is
  // reported as activity: it would be lost with this process.
  bool has_work();
  std::uint32_t more_activity(bool saving);  // than tasks

 private:
  struct Payload {  // behind the core's handle
    FunctionId function;
    KeptFunction function_body{};
    std::vector<ObjectId> objects{};
    std::shared_ptr<transport::Message> frames{};
    std::int64_t received_ns = 0;
    std::string kept_in{};  // folder of a detached task
    bool settings = false;  // the last object
  };

  void tell_core(const exec::Event& event);
  void start(const exec::StartTask& action);
  void interrupt();
  void settle_limit();
  TimePoint limit_at() const;
  void give_up();
  void fail(const exec::FailTask& action);
  void send_outcome(const SessionId& session, const TaskId& task);
  void answer(const exec::AnswerStates& action);
  void forget(const TaskId& task);

  Job job_of(Payload payload) const;
  Job detached_job(const TaskId& task, std::string folder);
  void tell_detached_end(const TaskId& task);
  bool ended_by_us(const TaskId& task, const JobResult& result) const;
  TimePoint core_deadline() const { return runner_over_ ? TimePoint::max() : core_.next_deadline(); }
  bool owes() const;

  MainThreadTask run_;
  const std::string node_;
  Clients& clients_;
  ObjectService& objects_;
  LiveOutput& output_;
  SupervisorLink& supervisor_;
  exec::ExecCore core_;
  Outcomes outcomes_;
  std::set<TaskId> detached_;  // pounced hears of their ends
  TimePoint outcome_at_{};     // when the last outcome was sent
  bool owing_ = false;         // it stays because an outcome is on its way to its client
  bool runner_over_ = false;
  std::optional<Duration> before_end_;  // of the task that runs
  double share_ = 1.0;                  // at most, of the time left; 1 when that is in before_end_
  std::atomic<bool> ending_ = false, wanted_ = false;
  std::atomic<int> limit_reached_ = 0;
};

}  // namespace pounce::worker
