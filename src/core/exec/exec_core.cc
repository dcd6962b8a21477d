#include "core/exec/exec_core.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace pounce::exec {
namespace {

constexpr std::size_t kUsualActions = 4;

}  // namespace

std::vector<Action> ExecCore::handle(const Event& event, TimePoint now) {
  now_ = now;
  Actions actions;
  actions.reserve(kUsualActions);
  const std::uint32_t before = unfinished();
  std::visit([&](const auto& one) { on(one, actions); }, event);
  if (unfinished() != before) actions.push_back(TellActivity{unfinished()});
#ifndef NDEBUG
  POUNCE_CHECK(broken_invariant() == nullptr, "the exec core broke an invariant");
#endif
  return actions;
}

RemoteTaskState ExecCore::state_of(const TaskId& task) const {
  if (const auto found = tasks_.find(task); found != tasks_.end()) return found->second.state;
  return running_ == task ? RemoteTaskState::kRunning : RemoteTaskState::kUnknown;
}

bool ExecCore::cancel_asked(const TaskId& task) const {
  if (running_ == task) return running_record().cancel_asked;
  const auto found = tasks_.find(task);
  return found != tasks_.end() && found->second.cancel_asked;
}

bool ExecCore::owes(const SessionId& session) const {
  return std::ranges::any_of(tasks_, [&](const auto& entry) {
    return entry.second.session == session && entry.second.state == RemoteTaskState::kDone;
  });
}

void ExecCore::on(const TaskArrived& event, Actions& actions) {
  const auto known = tasks_.find(event.task);
  if (known != tasks_.end()) {
    if (known->second.session != event.session)
      ++ignored_;
    else if (known->second.state == RemoteTaskState::kDone && event.attempt > known->second.attempt)
      accept(event, actions);  // the user allowed retries: a new run under the same id
    else
      repeated(event, known->second, actions);
  } else if (ran_before(event)) {
    ++ignored_;
  } else {
    accept(event, actions);
  }
}

void ExecCore::repeated(const TaskArrived& event, const Record& known, Actions& actions) {
  ++ignored_;
  if (known.state == RemoteTaskState::kRunning) actions.push_back(TellStarted{event.session, event.task});
  if (known.state == RemoteTaskState::kDone) actions.push_back(SendOutcome{event.session, event.task});
}

bool ExecCore::ran_before(const TaskArrived& event) const {
  const auto remembered = remembered_.find(event.task);
  return remembered != remembered_.end() && event.attempt <= remembered->second.attempt;
}

void ExecCore::accept(const TaskArrived& event, Actions& actions) {
  const bool earlier_run_ends = running_ == event.task;  // an orphan, and this is its next attempt
  if (tasks_.contains(event.task) || earlier_run_ends) actions.push_back(ForgetTask{event.task});
  Record& record = tasks_[event.task] = Record{.session = event.session, .attempt = event.attempt};
  if (!event.inputs_here) {
    record.state = RemoteTaskState::kDone;
    actions.push_back(FailTask{event.session, event.task, Failure::kInputsMissing});
    return;
  }
  record.payload = event.payload;
  queue_.push_back(event.task);
  start_next(actions);
}

void ExecCore::on(const RunnerReady&, Actions& actions) {
  if (running_) {
    ++ignored_;
    return;
  }
  runner_ready_ = true;
  start_next(actions);
}

void ExecCore::on(const RunnerAway&, Actions&) { runner_ready_ = false; }

void ExecCore::start_next(Actions& actions) {
  if (!runner_ready_ || running_ || queue_.empty()) return;
  running_ = queue_.front();
  queue_.pop_front();
  runner_ready_ = false;
  Record& record = tasks_.at(*running_);
  record.state = RemoteTaskState::kRunning;
  record.ran = true;
  actions.push_back(StartTask{record.session, *running_, std::move(record.payload)});
}

void ExecCore::on(const RunEnded& event, Actions& actions) {
  if (running_ != event.task) {
    ++ignored_;
    return;
  }
  running_.reset();
  if (std::exchange(orphan_, std::nullopt)) {
    if (!tasks_.contains(event.task)) actions.push_back(ForgetTask{event.task});
    return;
  }
  Record& record = tasks_.at(event.task);
  record.state = RemoteTaskState::kDone;
  actions.push_back(SendOutcome{record.session, event.task});
}

void ExecCore::on(const OutcomesAcknowledged& event, Actions& actions) {
  for (const TaskId& task : event.tasks) {
    const Record* record = own(event.session, task);
    if (record == nullptr || record->state != RemoteTaskState::kDone) {
      ++ignored_;
      continue;
    }
    remember(task, *record);
    tasks_.erase(task);
    actions.push_back(ForgetTask{task});
  }
}

void ExecCore::on(const StatesRequested& event, Actions& actions) {
  if (event.no_others) give_up(event.session, event.tasks, actions);
  AnswerStates answer{event.session, event.tasks, {}};
  std::vector<TaskId> done;
  for (const TaskId& task : event.tasks) {
    answer.states.push_back(state_for(event.session, task));
    if (answer.states.back() == RemoteTaskState::kDone) done.push_back(task);
  }
  actions.push_back(std::move(answer));
  for (const TaskId& task : done) actions.push_back(SendOutcome{event.session, task});
}

// A task that ran here and was forgotten must not look like one that never came: its client would send it again.
RemoteTaskState ExecCore::state_for(const SessionId& session, const TaskId& task) {
  if (const Record* record = own(session, task)) return record->state;
  const auto remembered = remembered_.find(task);
  const bool ran = remembered != remembered_.end() && remembered->second.session == session;
  return ran ? RemoteTaskState::kForgotten : RemoteTaskState::kUnknown;
}

void ExecCore::on(const CancelRequested& event, Actions& actions) {
  Record* record = own(event.session, event.task);
  if (record == nullptr || record->state == RemoteTaskState::kDone ||
      (event.only_if_queued && record->state == RemoteTaskState::kRunning)) {
    ++ignored_;
    return;
  }
  record->cancel_asked = true;
  if (record->state == RemoteTaskState::kRunning) return interrupt(event.task, *record, event.grace, actions);
  remove_from_queue(event.task);
  record->state = RemoteTaskState::kDone;
  actions.push_back(FailTask{event.session, event.task, Failure::kCancelled});
}

void ExecCore::on(const SessionDismissed& event, Actions& actions) { give_up(event.session, {}, actions); }

void ExecCore::give_up(const SessionId& session, const std::vector<TaskId>& but, Actions& actions) {
  for (auto it = tasks_.begin(); it != tasks_.end();) {
    const auto [task, record] = *it;
    if (record.session != session || std::ranges::find(but, task) != but.end()) {
      ++it;
      continue;
    }
    it = tasks_.erase(it);
    if (record.ran) remember(task, record);
    if (record.state == RemoteTaskState::kQueued) remove_from_queue(task);
    if (record.state == RemoteTaskState::kRunning)
      interrupt_orphan(task, record, actions);
    else
      actions.push_back(ForgetTask{task});
  }
}

void ExecCore::interrupt_orphan(const TaskId& task, Record record, Actions& actions) {
  record.cancel_asked = true;
  interrupt(task, orphan_.emplace(std::move(record)), kGrace, actions);
}

// A second cancel interrupts it again; the shortest grace holds.
void ExecCore::interrupt(const TaskId& task, Record& record, Duration grace, Actions& actions) {
  record.stop_by = std::min(record.stop_by, now_ + grace);
  actions.push_back(InterruptTask{task});
}

void ExecCore::on(const TimePassed&, Actions& actions) {
  if (now_ >= next_deadline()) actions.push_back(GiveUp{*running_});
}

TimePoint ExecCore::next_deadline() const { return running_ ? running_record().stop_by : TimePoint::max(); }

void ExecCore::remove_from_queue(const TaskId& task) { queue_.erase(std::find(queue_.begin(), queue_.end(), task)); }

void ExecCore::remember(const TaskId& task, const Record& record) {
  if (!remembered_.contains(task)) remembered_order_.push_back(task);
  remembered_[task] = {record.session, record.attempt};
  if (remembered_order_.size() <= kRemembered) return;
  remembered_.erase(remembered_order_.front());
  remembered_order_.pop_front();
}

ExecCore::Record* ExecCore::own(const SessionId& session, const TaskId& task) {
  const auto found = tasks_.find(task);
  if (found == tasks_.end() || found->second.session != session) return nullptr;
  return &found->second;
}

const char* ExecCore::broken_invariant() const {
  std::size_t queued = 0, running = 0;
  for (const auto& [task, record] : tasks_) {
    queued += record.state == RemoteTaskState::kQueued;
    running += record.state == RemoteTaskState::kRunning;
    if (record.state == RemoteTaskState::kUnknown || record.state == RemoteTaskState::kForgotten)
      return "a known task is unknown";
    if (record.state == RemoteTaskState::kRunning && running_ != task) return "a second task runs";
    if (record.state == RemoteTaskState::kQueued && std::count(queue_.begin(), queue_.end(), task) != 1)
      return "a queued task is not exactly once in the queue";
  }
  if (queued != queue_.size()) return "the queue holds a task that is not queued";
  if (orphan_ && !running_) return "an orphan that does not run";
  if (running != (running_ && !orphan_ ? 1u : 0u)) return "the running task has no record";
  if (runner_ready_ && !queue_.empty()) return "the main thread waits while a task is queued";
  if (remembered_.size() != remembered_order_.size()) return "the remembered ids and their order differ";
  return nullptr;
}

}  // namespace pounce::exec
