#include "worker/interpreter/task_runner.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <variant>

#include "base/overloaded.h"

namespace pounce::worker {
namespace {

constexpr int kNudges = 10;
constexpr std::chrono::milliseconds kNudgePause{100};
constexpr std::chrono::seconds kOnItsWay{10};
constexpr std::chrono::seconds kBeforeEnd{30};  // a call is interrupted; a cell says when itself
constexpr double kShareBeforeEnd = 0.25;        // at most, of the time that is left

std::string log_of(const TaskId& task, const std::string& folder) { return folder + "/" + task.hex() + ".log"; }

// Checks for the log that the kernel made, under a name that cannot be guessed. A worker that sees the log sees the
// kernel's folder.
std::optional<Error> not_shared(const std::string& log, const std::string& node) {
  if (::access(log.c_str(), W_OK) == 0) return std::nullopt;
  return Error{ErrorCode::kNotShared,
               "the worker on " + node + " does not see " + log + ", which the notebook made",
               {},
               {{"node", node}}};
}

Duration time_until(std::int64_t unix_s) {
  return std::chrono::duration_cast<Duration>(WallClock::from_time_t(unix_s) - WallClock::now());
}

void tell_started(ClientSeat* seat, const TaskId& task) {
  if (seat != nullptr) seat->outbox.post(protocol::Started{task});
}

}  // namespace

MainThreadTask::MainThreadTask(RunPage page, std::function<void()> interrupt, std::function<void()> nudge)
    : page_(std::move(page)), interrupt_(std::move(interrupt)), nudge_(std::move(nudge)) {}

void MainThreadTask::begin(const TaskId& task, std::int64_t received_ns) {
  page_.started(task);
  received_ns_ = received_ns;
  untold_ = task;
  interrupt_sent_ = false;
}

void MainThreadTask::give_back() {
  page_.ended();
  page_.acknowledged(job_->task);
  untold_.reset();
  job_.reset();
}

void MainThreadTask::end() {
  untold_.reset();
  page_.ended();
}

void MainThreadTask::interrupt() {
  interrupt_sent_ = true;
  interrupt_();
  nudges_left_ = kNudges;
  nudge_at_ = Clock::now() + kNudgePause;
}

// Python only notes a signal, and looks at the note between two lines. A signal that comes just before a line blocks
// leaves it blocked. So for a second every blocking call is ended, so that Python looks; what was interrupted already
// goes on.
void MainThreadTask::nudge(TimePoint now) {
  if (now < nudge_at_) return;
  if (interrupt_sent_ && nudges_left_-- > 0) {
    nudge_();
    nudge_at_ = now + kNudgePause;
  } else {
    nudge_at_ = TimePoint::max();
  }
}

void MainThreadTask::kill_process() {
  page_.give_up();
  ::kill(::getpid(), SIGKILL);
}

TaskRunner::TaskRunner(MainThreadTask run, std::string node, Clients& clients, ObjectService& objects,
                       LiveOutput& output, SupervisorLink& supervisor)
    : run_(std::move(run)),
      node_(std::move(node)),
      clients_(clients),
      objects_(objects),
      output_(output),
      supervisor_(supervisor),
      outcomes_(clients, objects.lanes()) {}

void TaskRunner::tell_core(const exec::Event& event) {
  for (const exec::Action& action : core_.handle(event, Clock::now()))
    std::visit(Overloaded{[&](const exec::StartTask& one) { start(one); },
                          [&](const exec::TellStarted& one) { tell_started(clients_.seat(one.session), one.task); },
                          [&](const exec::InterruptTask&) { interrupt(); }, [&](const exec::GiveUp&) { give_up(); },
                          [&](const exec::FailTask& one) { fail(one); },
                          [&](const exec::SendOutcome& one) { send_outcome(one.session, one.task); },
                          [&](const exec::AnswerStates& one) { answer(one); },
                          [&](const exec::ForgetTask& one) { forget(one.task); },
                          [&](const exec::TellActivity& one) { supervisor_.tell_running(one.running); }},
               action);
  wanted_ = ending_ || core_.waiting() > 0;
}

// ---- what clients and the supervisor say ---------------------------------------------------------------------------

void TaskRunner::on(const protocol::Task& task, const DataMessage& message) {
  if (message.frames.size() < 2) return message.seat.refuse(ErrorCode::kProtocol, "task needs its arguments");
  if (ending_) return message.seat.outbox.post(protocol::QueryIs{{task.task}, {RemoteTaskState::kEnding}});
  const KeptFunction* function = objects_.functions().find(task.function);
  const auto is_here = [this](const ObjectId& object) { return objects_.store().has(object); };
  const bool inputs_here = function != nullptr && std::ranges::all_of(task.objects, is_here);
  auto payload = std::make_shared<Payload>(Payload{task.function,
                                                   function != nullptr ? *function : KeptFunction{},
                                                   task.objects,
                                                   std::make_shared<transport::Message>(std::move(message.frames)),
                                                   to_ns(*message.seat.last_seen),
                                                   {},
                                                   task.settings && !task.objects.empty()});
  tell_core(exec::TaskArrived{message.session, task.task, task.attempt, inputs_here, std::move(payload)});
}

// A task whose outcome is still here after the acknowledgement is not this session's.
void TaskRunner::on(const protocol::Ack& ack, const DataMessage& message) {
  outcomes_.remove_files(ack.tasks);
  std::vector<std::pair<TaskId, JobResult>> kept;
  for (const TaskId& task : ack.kept) {
    const JobResult* result = outcomes_.find(task);
    kept.emplace_back(task, result != nullptr ? *result : JobResult{});
  }
  tell_core(exec::OutcomesAcknowledged{message.session, ack.tasks});
  for (auto& [task, result] : kept)
    objects_.keep_result(message, task, outcomes_.find(task) != nullptr ? JobResult{} : std::move(result));
  if (owing_) supervisor_.changed();
}

void TaskRunner::on(const protocol::Query& query, const DataMessage& message) {
  message.seat.reached.clear();
  for (const protocol::Reached& reached : query.reached)
    if (const auto task = TaskId::from_hex(reached.of)) message.seat.reached[*task] = reached;
  tell_core(exec::StatesRequested{message.session, query.tasks, query.no_others});
}

void TaskRunner::on(const protocol::CancelTask& cancel, const DataMessage& message) {
  const std::chrono::milliseconds grace(cancel.grace_ms);
  tell_core(exec::CancelRequested{message.session, cancel.task, grace, cancel.only_if_queued});
}

void TaskRunner::on(const protocol::RunDetached& order) {
  if (ending_) return;  // pounced is told of the end
  if (auto blind =
          detached_.contains(order.task) ? std::nullopt : not_shared(log_of(order.task, order.folder), node_)) {
    protocol::DetachedEnded ended;
    ended.task = order.task;
    ended.error = std::move(*blind);
    return supervisor_.send(ended);
  }
  detached_.insert(order.task);
  auto payload = std::make_shared<Payload>(Payload{{}, {}, {}, nullptr, to_ns(Clock::now()), order.folder, false});
  tell_core(exec::TaskArrived{order.session, order.task, 0, true, std::move(payload)});
}

void TaskRunner::dismiss(const SessionId& session) { tell_core(exec::SessionDismissed{session}); }

void TaskRunner::end() {
  if (ending_.exchange(true)) return;
  wanted_ = true;
  supervisor_.changed();
  if (run_.waits())
    run_.give_back();
  else if (core_.running())
    run_.interrupt();
  for (auto& [session, seat] : clients_.seats())
    if (seat.attached) tell_leaving(seat);
}

void TaskRunner::tell_leaving(ClientSeat& seat) {
  if (auto started = run_.unacknowledged()) seat.outbox.post(protocol::Leaving{std::move(*started)});
}

bool TaskRunner::has_work() {
  owing_ = owes();
  return core_.unfinished() > 0 || owing_;
}

// Once some time has passed pounced knows from its client that the lease is in use. A client that never acknowledges
// does not keep the worker forever.
bool TaskRunner::owes() const {
  const auto owed = [this](const auto& entry) { return entry.second.attached && core_.owes(entry.first); };
  return Clock::now() < outcome_at_ + kOnItsWay && std::ranges::any_of(clients_.seats(), owed);
}

// A worker that saves is busy, and so is one that stays for an outcome. Neither keeps a worker that was told to end.
std::uint32_t TaskRunner::more_activity(bool saving) {
  owing_ = owing_ && owes();
  return ending_ ? 0 : (saving ? 1 : 0) + (owing_ ? 1 : 0);
}

// ---- a run, from its start to its end ------------------------------------------------------------------------------

void TaskRunner::runner_ready() {
  if (!ending_) tell_core(exec::RunnerReady{});
}

void TaskRunner::runner_away() { tell_core(exec::RunnerAway{}); }

void TaskRunner::start(const exec::StartTask& action) {
  auto& payload = *static_cast<Payload*>(action.payload.get());
  const std::int64_t received_ns = payload.received_ns;
  run_.begin(action.task, received_ns);
  if (payload.kept_in.empty()) interrupt_before_end(kBeforeEnd, kShareBeforeEnd);
  output_.begin(action.session, action.task);
  Job job =
      payload.kept_in.empty() ? job_of(std::move(payload)) : detached_job(action.task, std::move(payload.kept_in));
  job.task = action.task;
  job.session = action.session;
  job.received_ns = received_ns;
  run_.hand_over(std::move(job));
}

Job TaskRunner::job_of(Payload payload) const {
  Job job;
  job.function = payload.function;
  job.function_body = std::move(payload.function_body);
  job.frames = std::move(payload.frames);
  if (payload.settings) job.settings = payload.objects.back();
  for (const ObjectId& object : payload.objects) {
    auto use = objects_.store().use(object);
    if (!use) {
      job.failure = std::move(use.error());
      break;
    }
    job.objects.push_back(std::move(*use));
  }
  return job;
}

Job TaskRunner::detached_job(const TaskId& task, std::string folder) {
  Job job;
  if (!output_.log_to(log_of(task, folder))) job.failure = not_shared(log_of(task, folder), node_);
  job.kept_in = std::move(folder);
  return job;
}

// The stand-by thread pumps, so the task is not a short one, and its client is told that it runs. (The outcome of a
// short task says so itself; what may have run before a crash is in the run page.)
void TaskRunner::begin_turn() {
  if (const auto task = run_.take_untold()) tell_started(output_.seat(), *task);
}

// Once the main thread is on its way out there is no task to interrupt, only variables to save.
void TaskRunner::interrupt() {
  if (!runner_over_) run_.interrupt();
}

void TaskRunner::interrupt_before_end(Duration before, double share) {
  before_end_ = before;
  share_ = share;
  limit_reached_ = 0;
}

// The end may become known after the task has begun. Comes before the first look at limit_at() that counts.
void TaskRunner::settle_limit() {
  const std::int64_t end_s = supervisor_.end_time_s();
  if (end_s == 0) return;
  if (!before_end_ || share_ >= 1.0) return;
  before_end_ = std::min(*before_end_, std::chrono::duration_cast<Duration>(time_until(end_s) * share_));
  share_ = 1.0;
}

// When the task that runs is interrupted since the job's time is nearly over. The end may still be moved.
TimePoint TaskRunner::limit_at() const {
  const std::int64_t end_s = supervisor_.end_time_s();
  if (!before_end_ || limit_reached_ > 1 || end_s == 0 || runner_over_) return TimePoint::max();
  return Clock::now() + time_until(end_s) - *before_end_ / (limit_reached_ + 1);
}

// A loop in C, a blocking call, or code that swallows KeyboardInterrupt can only be ended this way. The supervisor
// reports it and starts the next interpreter.
void TaskRunner::give_up() {
  output_.forward_last();
  run_.kill_process();
}

void TaskRunner::pass_time(TimePoint now) {
  if (now >= core_deadline()) tell_core(exec::TimePassed{});
  settle_limit();
  if (now >= limit_at()) {
    ++limit_reached_;
    run_.interrupt();
  }
  run_.nudge(now);
}

TimePoint TaskRunner::next_deadline() const { return std::min({core_deadline(), run_.nudge_at(), limit_at()}); }

bool TaskRunner::end_run(const TaskId& task, JobResult result) {
  output_.forward(Clock::now(), true);  // before the outcome, so that a task's output comes before its result
  output_.end_log();
  run_.end();
  before_end_.reset();
  if (ended_by_us(task, result)) return run_.take_interrupt_sent();
  outcomes_.keep(task, {run_.received_ns(), std::move(result)});
  tell_core(exec::RunEnded{task});
  if (core_.waiting() > 0)  // the next task is here already, so the outcome may wait for its own
    clients_.gather(output_.seat());
  else
    clients_.flush();
  return run_.take_interrupt_sent();
}

// True if the task was interrupted because the job ends. Only pounced can find out why it ends, so pounced tells the
// client; our outcome would be a KeyboardInterrupt that the user never caused.
bool TaskRunner::ended_by_us(const TaskId& task, const JobResult& result) const {
  return ending_ && !core_.cancel_asked(task) && !result.ok && result.error.code == ErrorCode::kCancelled;
}

// ---- outcomes ------------------------------------------------------------------------------------------------------

void TaskRunner::fail(const exec::FailTask& action) {
  JobResult result;
  result.pickle = own_bytes({});
  result.error = action.why == exec::Failure::kCancelled
                     ? Error{ErrorCode::kCancelled, "the task was cancelled before it started", {}, {}}
                     : Error{ErrorCode::kProtocol, "the task came before its function or its objects", {}, {}};
  outcomes_.keep(action.task, {to_ns(Clock::now()), std::move(result)});
  send_outcome(action.session, action.task);
}

void TaskRunner::send_outcome(const SessionId& session, const TaskId& task) {
  outcome_at_ = Clock::now();
  if (detached_.contains(task)) return tell_detached_end(task);
  outcomes_.send(session, task);
}

// Python has kept the outcome. In place of the pickle it hands over the digest
// (python/pounce/_worker/interpreter.py).
void TaskRunner::tell_detached_end(const TaskId& task) {
  const JobResult& result = *outcomes_.find(task);
  protocol::DetachedEnded ended;
  ended.task = task;
  ended.ok = result.ok;
  ended.digest = result.pickle.text();
  if (ended.digest.empty()) ended.error = result.error;
  supervisor_.send(ended);
}

void TaskRunner::answer(const exec::AnswerStates& action) {
  if (ClientSeat* seat = clients_.seat(action.session))
    seat->outbox.post(protocol::QueryIs{action.tasks, action.states});
}

void TaskRunner::forget(const TaskId& task) {
  outcomes_.forget(task);
  detached_.erase(task);
  run_.acknowledged(task);
}

void TaskRunner::remove_when_acknowledged(const TaskId& task, std::string file) {
  outcomes_.remove_when_acknowledged(task, std::move(file));
}

}  // namespace pounce::worker
