// The actions of core/exec, and the main thread's side of a run.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "worker/common/bounded_log.h"
#include "worker/interpreter/outcome_transfer.h"
#include "worker/interpreter/worker_engine.h"

namespace pounce::worker {
namespace {

constexpr int kNudges = 10;
constexpr std::chrono::milliseconds kNudgePause{100};

std::string log_of(const TaskId& task, const std::string& folder) { return folder + "/" + task.hex() + ".log"; }

}  // namespace

void WorkerEngine::tell_core(const exec::Event& event) {
  for (const exec::Action& action : core_.handle(event, Clock::now()))
    std::visit([this](const auto& one) { perform(one); }, action);
  wanted_ = ending_ || core_.waiting() > 0;
}

void WorkerEngine::runner_ready() {
  if (!ending_) tell_core(exec::RunnerReady{});
}

void WorkerEngine::runner_away() { tell_core(exec::RunnerAway{}); }

bool WorkerEngine::runner_over() { return runner_over_ = ending_; }

void WorkerEngine::tell_state(NamespaceState state) {
  if (std::exchange(state_, state) == state) return;
  yield_asked_ = false;
  activity_changed_ = true;
  activity_told_ = {};
  tell_activity(Clock::now());
}

void WorkerEngine::tell_held() {
  held_ = true;
  activity_changed_ = true;
}

void WorkerEngine::tell_loading(std::string module) {
  loading_ = std::move(module);
  activity_changed_ = true;
}

ModulesAhead WorkerEngine::take_modules() {
  modules_asked_ = false;
  return std::exchange(modules_, {});
}

std::optional<Job> WorkerEngine::take_job() { return std::exchange(job_, std::nullopt); }

bool WorkerEngine::end_run(const TaskId& task, JobResult result) {
  forward_output(Clock::now(), true);  // before the outcome, so that a task's output comes before its result
  started_untold_.reset();
  named_log_.reset();
  page_.ended();
  if (ended_by_us(task, result)) return std::exchange(interrupt_sent_, false);
  outcomes_[task] = KeptOutcome{running_received_ns_, std::move(result)};
  tell_core(exec::RunEnded{task});
  if (outcome_may_wait())
    more_ = true;  // the next turn sends it before it sleeps
  else
    flush_outboxes();
  return std::exchange(interrupt_sent_, false);
}

bool WorkerEngine::show(const std::vector<SharedBytes>& message) {
  forward_output(Clock::now(), true);
  flush_outboxes();
  if (output_blocked()) return false;
  ClientSeat* seat = clients_.seat(output_session_);
  if (seat == nullptr || !seat->attached) return true;  // dropped, as printed output is
  seat->outbox.post(protocol::Output{output_task_, "message"}, message);
  flush_outboxes();
  return true;
}

bool WorkerEngine::is_seen() const {
  const ClientSeat* seat = const_cast<Clients&>(clients_).seat(output_session_);
  return seat != nullptr && seat->attached;
}

std::optional<std::vector<std::string>> WorkerEngine::take_input() {
  if (inputs_.empty()) return std::nullopt;
  std::vector<std::string> input = std::move(inputs_.front());
  inputs_.pop_front();
  return input;
}

// True if the task was interrupted because the job ends. Only pounced can find out why it ends, so pounced tells the
// client; our outcome would be a KeyboardInterrupt that the user never caused.
bool WorkerEngine::ended_by_us(const TaskId& task, const JobResult& result) const {
  return ending_ && !core_.cancel_asked(task) && !result.ok && result.error.code == ErrorCode::kCancelled;
}

bool WorkerEngine::inputs_here(const protocol::Task& task) const {
  return functions_.find(task.function) != nullptr &&
         std::all_of(task.objects.begin(), task.objects.end(), [this](const ObjectId& id) { return store_.has(id); });
}

void WorkerEngine::perform(const exec::KeepTask& action) {
  payloads_[action.task] = std::move(*arriving_);
  arriving_.reset();
}

void WorkerEngine::perform(const exec::StartTask& action) {
  Payload payload = std::move(payloads_.at(action.task));
  payloads_.erase(action.task);
  page_.started(action.task);
  running_received_ns_ = payload.received_ns;
  output_session_ = action.session;
  output_task_ = started_untold_.emplace(action.task);
  inputs_.clear();
  interrupt_sent_ = false;
  job_ = payload.kept_in.empty() ? job_of(action.task, std::move(payload))
                                 : named_job(action.task, std::move(payload.kept_in));
  job_->session = action.session;
  job_->received_ns = running_received_ns_;
}

Job WorkerEngine::job_of(const TaskId& task, Payload payload) {
  Job job;
  job.task = task;
  job.function = payload.function;
  job.function_body = std::move(payload.function_body);
  job.frames = std::move(payload.frames);
  for (const ObjectId& object : payload.objects) {
    auto use = store_.use(object);
    if (!use) {
      job.failure = std::move(use.error());
      break;
    }
    job.objects.push_back(std::move(*use));
  }
  return job;
}

// Checks for the log that the kernel made, under a name that cannot be guessed. A worker that sees the log sees the
// kernel's folder.
std::optional<Error> WorkerEngine::not_shared(const TaskId& task, const std::string& folder) const {
  const std::string path = log_of(task, folder);
  if (::access(path.c_str(), W_OK) == 0) return std::nullopt;
  return Error{ErrorCode::kNotShared,
               "the worker on " + setup_.node + " does not see " + path + ", which the notebook made",
               {},
               {{"node", setup_.node}}};
}

Job WorkerEngine::named_job(const TaskId& task, std::string folder) {
  named_log_.reset(::open(log_of(task, folder).c_str(), O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (named_log_) end_open_line(named_log_.get());  // a line of an earlier run
  Job job;
  job.task = task;
  if (!named_log_) job.failure = not_shared(task, folder);
  job.kept_in = std::move(folder);
  return job;
}

// Python has kept the outcome. In place of the pickle it hands over the digest
// (python/pounce/_worker/interpreter.py).
void WorkerEngine::tell_detached_end(const TaskId& task) {
  const JobResult& result = outcomes_.at(task).result;
  protocol::DetachedEnded ended;
  ended.task = task;
  ended.ok = result.ok;
  ended.digest.assign(reinterpret_cast<const char*>(result.pickle->view().data()), result.pickle->size());
  if (ended.digest.empty()) ended.error = result.error;
  supervisor_.send(ended);
}

void WorkerEngine::perform(const exec::TellStarted& action) {
  if (ClientSeat* seat = clients_.seat(action.session)) seat->outbox.post(protocol::Started{action.task});
}

// Once the main thread is on its way out there is no task to interrupt, only variables to save.
void WorkerEngine::perform(const exec::InterruptTask&) {
  if (!runner_over_) interrupt();
}

void WorkerEngine::interrupt() {
  interrupt_sent_ = true;
  setup_.interrupt();
  nudges_left_ = kNudges;
  nudge_at_ = Clock::now() + kNudgePause;
}

// Python only notes a signal, and looks at the note between two lines. A signal that comes just before a line blocks
// leaves it blocked. So for a second every blocking call is ended, so that Python looks; what was interrupted already
// goes on.
void WorkerEngine::nudge(TimePoint now) {
  if (now < nudge_at_) return;
  if (interrupt_sent_ && nudges_left_-- > 0) {
    setup_.nudge();
    nudge_at_ = now + kNudgePause;
  } else {
    nudge_at_ = TimePoint::max();
  }
}

// A loop in C, a blocking call, or code that swallows KeyboardInterrupt can only be ended this way. The supervisor
// reports it and starts the next interpreter.
void WorkerEngine::perform(const exec::GiveUp&) {
  forward_last_output();
  page_.give_up();
  ::kill(::getpid(), SIGKILL);
}

void WorkerEngine::perform(const exec::FailTask& action) {
  JobResult result;
  result.pickle = own_bytes({});
  result.error = action.why == exec::Failure::kCancelled
                     ? Error{ErrorCode::kCancelled, "the task was cancelled before it started", {}, {}}
                     : Error{ErrorCode::kProtocol, "the task came before its function or its objects", {}, {}};
  outcomes_[action.task] = KeptOutcome{to_ns(Clock::now()), std::move(result)};
  perform(exec::SendOutcome{action.session, action.task});
}

void WorkerEngine::perform(const exec::SendOutcome& action) {
  outcome_at_ = Clock::now();
  if (named_.contains(action.task)) return tell_detached_end(action.task);
  ClientSeat* seat = clients_.seat(action.session);
  if (seat == nullptr || !seat->attached) return;  // it queries the outcome when it comes back
  OutcomeMessage message = outcome_message(action.task, outcomes_.at(action.task));
  message.header.sent_ns = to_ns(Clock::now());
  const bool as_memory = sockets_.passes_memory(seat->route);
  if (auto reached = seat->reached.extract(action.task); reached && !as_memory)
    message.header.from = std::move(reached.mapped());
  if (!as_memory && offer_on_lane(action.session, message))
    return seat->outbox.post(message.header, std::move(message.payload));
  seat->outbox.post_outcome(std::move(message), as_memory);
}

// False: the outcome is too small, or there is no lane.
bool WorkerEngine::offer_on_lane(const SessionId& session, OutcomeMessage& message) {
  bulk::Lane* const lane = lanes_.lane(session);
  const auto bytes = std::accumulate(message.header.buffers.begin(), message.header.buffers.end(), std::uint64_t{0});
  if (lane == nullptr || bytes < bulk::kWorthTheLane) return false;
  std::vector<bulk::Offered> parts;
  for (const SharedBytes& part : message.bulk) parts.push_back({part->view(), part});
  lane->offer(message.header.task.hex(), std::move(parts));
  message.header.fetched = true;
  return true;
}

void WorkerEngine::perform(const exec::AnswerStates& action) {
  if (ClientSeat* seat = clients_.seat(action.session))
    seat->outbox.post(protocol::QueryIs{action.tasks, action.states});
}

void WorkerEngine::perform(const exec::ForgetTask& action) {
  payloads_.erase(action.task);
  outcomes_.erase(action.task);
  files_.erase(action.task);
  named_.erase(action.task);
  page_.acknowledged(action.task);
  for (auto& [session, seat] : clients_.seats()) {
    seat.outbox.drop_bulk(action.task);
    if (bulk::Lane* const lane = lanes_.lane(session)) lane->withdraw(action.task.hex());
  }
}

void WorkerEngine::perform(const exec::TellActivity& action) {
  activity_ = action.running;
  activity_changed_ = true;
}

}  // namespace pounce::worker
