#include "simulator/interpreter.h"

#include <algorithm>

#include "simulator/world.h"

namespace pounce::simulator {
namespace {
constexpr auto kNoticedAtOnce = 50ms;  // a dead process closes its connections
constexpr auto kOnItsWay = 10s;        // src/worker/interpreter/task_runner.cc
constexpr std::uint32_t kSaves = 300'000, kLeavesMore = 300'000, kCannotSave = 300'000;  // per million
}  // namespace

Interpreter::Interpreter(World& world, Supervisor& supervisor, InterpreterNumber number, Bug bug)
    : world_(world), supervisor_(supervisor), number_(number), bug_(bug) {
  tell_core(exec::RunnerReady{});
}

Interpreter::~Interpreter() { cut(kNoticedAtOnce); }

template <class Do>
void Interpreter::later(Duration wait, Do what) {
  world_.time.in(wait, [&world = world_, number = number_, what] {
    if (Interpreter* self = world.interpreter(number)) what(*self);
  });
}

template <class... Words>
void Interpreter::note(const Words&... words) {
  world_.note(" interpreter ", number_, ", lease ", Short{world_.ledger.interpreter(number_).lease}, ": ", words...);
}

void Interpreter::cut(Millis noticed_within) {
  for (auto& [session, seat] : seats_)
    if (seat.wire) seat.wire->cut(noticed_within);
}

bool Interpreter::stopped() const { return world_.time.now() < stopped_until_; }

void Interpreter::stop(Millis length) {
  note("stops for ", length.count(), " ms");
  stopped_until_ = world_.time.now() + length;
  for (auto& [session, seat] : seats_)
    if (seat.wire) seat.wire->hold(End::kServer, stopped_until_);
}

// ---- clients -------------------------------------------------------------------------------------------------------

void Interpreter::attach(const SessionId& session, const std::shared_ptr<DataLink>& link, const Wire& wire) {
  if (!admits(session)) return;  // dismissed since it connected
  client_seen_ = world_.time.now();
  seats_[session] = {link, wire};
  if (bug_ == Bug::kOutcomesDropped) outcomes_.clear();
  wire->send(End::kClient, [link, wire] { link->attached(wire); }, Connection::Repeat::kNever);
}

void Interpreter::hear(const SessionId& session, const Wire& from, const exec::Event& event) {
  const auto seat = seats_.find(session);
  if (seat == seats_.end()) return;
  client_seen_ = world_.time.now();
  if (seat->second.wire != from && bug_ != Bug::kOldConnectionHeard)
    return;  // its client has asked about what was under way
  if (const auto* asked = std::get_if<exec::StatesRequested>(&event); asked != nullptr && gives_up(*asked))
    world_.ledger.interpreter(number_).dismissed.insert(session);
  const auto* task = std::get_if<exec::TaskArrived>(&event);
  if (task == nullptr) return tell_core(event);
  if (ending_) return perform(exec::AnswerStates{session, {task->task}, {RemoteTaskState::kEnding}});
  exec::TaskArrived arrived = *task;
  if (bug_ == Bug::kRunsAgain && acknowledged_.contains(task->task)) ++arrived.attempt;
  arrived.payload = std::make_shared<std::uint32_t>(task->attempt);
  arrived_.insert(task->task);
  tell_core(arrived);
}

bool Interpreter::gives_up(const exec::StatesRequested& asked) const {
  return asked.no_others && std::ranges::any_of(arrived_, [&](const TaskId& task) {
           return world_.ledger.task(task).session == asked.session &&
                  core_.state_of(task) != RemoteTaskState::kUnknown &&
                  std::ranges::find(asked.tasks, task) == asked.tasks.end();
         });
}

bool Interpreter::has_tasks_of(const SessionId& session) const {
  for (const TaskId& task : arrived_)
    if (world_.ledger.task(task).session == session && core_.state_of(task) != RemoteTaskState::kUnknown) return true;
  return false;
}

// ---- the supervisor ------------------------------------------------------------------------------------------------

void Interpreter::dismiss(const SessionId& session) {
  world_.ledger.interpreter(number_).dismissed.insert(session);
  note("dismisses client ", static_cast<int>(session.bytes().back()));
  tell_core(exec::SessionDismissed{session});
  const auto seat = seats_.find(session);
  if (seat == seats_.end()) return;
  if (seat->second.wire) seat->second.wire->cut(kNoticedAtOnce);
  seats_.erase(seat);
}

void Interpreter::end_if_idle() {
  owing_ = owes();
  if (owing_) later(kOnItsWay, [](Interpreter& self) { self.tell_activity(); });
  if (core_.unfinished() > 0 || saving_ || owing_) return tell_activity(true);
  ending_ = true;
  leave();
}

// A run that is interrupted for this leaves no outcome: why the job ends only pounced can tell.
void Interpreter::end() {
  ending_ = true;
  if (core_.running())
    interrupt();
  else
    leave();
}

// What was not saved yet, with all the time that its supervisor gives.
void Interpreter::leave() {
  if (std::exchange(left_, true)) return;
  if (!world_.random.chance(kLeavesMore)) return gone();
  tell_state(NamespaceState::kSaving);
  later(world_.random.between(0ms, 8s), [](Interpreter& self) { self.gone(); });
}

// ---- the exec core -------------------------------------------------------------------------------------------------

void Interpreter::tell_core(const exec::Event& event) {
  const auto actions = core_.handle(event, world_.time.now());
  if (const char* broken = core_.broken_invariant()) world_.fail(broken);
  const InterpreterNumber number = number_;
  World& world = world_;
  for (const exec::Action& action : actions) {
    std::visit([this](const auto& one) { perform(one); }, action);
    if (world.interpreter(number) != this) return;  // given up, and gone
  }
  arm();
}

void Interpreter::arm() {
  const TimePoint due = core_.next_deadline();
  if (left_ || due == TimePoint::max() || due >= armed_) return;
  armed_ = due;
  later(due - world_.time.now(), [](Interpreter& self) {
    self.armed_ = TimePoint::max();
    self.tell_core(exec::TimePassed{});
  });
}

void Interpreter::perform(const exec::StartTask& action) {
  const TaskRecord& task = world_.ledger.task(action.task);
  page_.insert(action.task);
  note("starts task ", number_of(action.task), ", nature ", static_cast<int>(task.nature));
  const std::uint32_t attempt = *static_cast<const std::uint32_t*>(action.payload.get());  // see hear()
  world_.complain(world_.ledger.started(action.task, number_, attempt, world_.time.now()));
  run_ = static_cast<std::uint32_t>(task.runs.size() - 1);
  later(5ms, [id = action.task, session = action.session](Interpreter& self) {
    if (self.core_.running() == id) self.perform(exec::TellStarted{session, id});
  });
  later(task.length, [id = action.task, deadly = task.nature == Nature::kDeadly](Interpreter& self) {
    if (!deadly) return self.run_ended(id, false);
    if (self.core_.running() == id) self.supervisor_.crash();
  });
}

void Interpreter::run_ended(const TaskId& id, bool interrupted) {
  if (core_.running() != id || !run_) return;
  if (stopped())
    return later(stopped_until_ - world_.time.now(), [=](Interpreter& self) { self.run_ended(id, interrupted); });
  note("task ", number_of(id), interrupted ? " is interrupted" : " returns");
  const bool cancelled = interrupted && core_.cancel_asked(id);
  Run& run = world_.ledger.task(id).runs[*run_];
  run.ended = true;
  run.end = world_.time.now();
  if (!ending_ || cancelled || !interrupted) {
    outcomes_[id] = {*std::exchange(run_, std::nullopt), cancelled};
    tell_core(exec::RunEnded{id});
  }
  if (ending_) return leave();
  later(world_.random.between(0ms, 2ms), [](Interpreter& self) { self.rest(); });
}

bool Interpreter::owes() const {
  return world_.time.now() < outcome_at_ + kOnItsWay &&
         std::ranges::any_of(
             seats_, [this](const auto& entry) { return entry.second.wire != nullptr && core_.owes(entry.first); });
}

// At once, or when it has waited for a while.
void Interpreter::rest() {
  if (core_.waiting() == 0 && world_.random.chance(kSaves)) return save();
  tell_core(exec::RunnerReady{});
  if (world_.random.chance(kSaves))
    later(world_.random.between(100ms, 3s), [](Interpreter& self) {
      if (self.core_.unfinished() == 0 && !self.saving_ && !self.ending_) self.save();
    });
}

void Interpreter::save() {
  tell_core(exec::RunnerAway{});
  saving_ = true;
  tell_state(NamespaceState::kSaving);
  later(world_.random.between(0ms, 2s), [](Interpreter& self) {
    self.saving_ = false;
    if (self.ending_) return;
    self.tell_state(self.world_.random.chance(kCannotSave) ? NamespaceState::kUnsaved : NamespaceState::kSaved);
    self.tell_core(exec::RunnerReady{});
  });
}

// What it says is on its way for a moment, in order.
template <class Say>
void Interpreter::say(Say what) {
  said_ = std::max(said_, world_.time.now() + world_.random.between(0ms, 2ms));
  later(said_ - world_.time.now(), [what](Interpreter& self) { what(self.supervisor_); });
}

// A lease that is saving is busy, and so is one that stays for an outcome; one that was told to end is kept by neither.
void Interpreter::tell_activity(bool stays) {
  owing_ = owing_ && owes();
  const std::uint32_t more = ending_ ? 0 : saving_ + owing_;
  const std::uint32_t running = core_.unfinished() + more;
  say([running, state = state_, stays](Supervisor& supervisor) { supervisor.activity(running, state, stays); });
}

void Interpreter::tell_state(NamespaceState state) {
  state_ = state;
  tell_activity();
}

void Interpreter::gone() {
  say([](Supervisor& supervisor) { supervisor.interpreter_left(); });
}

void Interpreter::perform(const exec::InterruptTask&) {
  if (!left_) interrupt();
}

void Interpreter::interrupt() {
  const TaskId id = *core_.running();
  if (world_.ledger.task(id).nature == Nature::kStubborn) return;
  later(world_.random.between(1ms, 50ms), [id](Interpreter& self) { self.run_ended(id, true); });
}

void Interpreter::perform(const exec::GiveUp&) {
  if (!left_) supervisor_.gave_up();
}

void Interpreter::perform(const exec::FailTask& action) {
  outcomes_[action.task] = {std::nullopt, true};
  perform(exec::SendOutcome{action.session, action.task});
}

void Interpreter::perform(const exec::SendOutcome& action) {
  outcome_at_ = world_.time.now();
  if (bug_ == Bug::kOutcomeToAll)
    for (const auto& [session, seat] : seats_)
      if (session != action.session) send_outcome(seat, action.task);
  if (const auto seat = seats_.find(action.session); seat != seats_.end()) send_outcome(seat->second, action.task);
}

void Interpreter::send_outcome(const Seat& seat, const TaskId& task) {
  const auto kept = outcomes_.find(task);
  if (!seat.wire || kept == outcomes_.end()) return;  // it asks when it comes back
  const auto tell = [link = seat.link, wire = seat.wire, task, outcome = kept->second](bool whole) {
    return [=] { link->outcome(wire, task, outcome, whole); };
  };
  const bool large = world_.ledger.task(task).large;
  if (large) seat.wire->send(End::kClient, tell(false));
  seat.wire->send(End::kClient, tell(true), Connection::Repeat::kMaybe, large ? 1000ms : 20ms);
}

void Interpreter::perform(const exec::TellStarted& action) {
  const auto seat = seats_.find(action.session);
  if (seat == seats_.end() || !seat->second.wire || bug_ == Bug::kStartedNotTold) return;
  seat->second.wire->send(End::kClient, [link = seat->second.link, task = action.task] { link->started(task); });
}

void Interpreter::perform(const exec::AnswerStates& action) {
  const auto seat = seats_.find(action.session);
  if (seat == seats_.end() || !seat->second.wire) return;
  seat->second.wire->send(
      End::kClient, [link = seat->second.link, action] { link->answered(action); }, Connection::Repeat::kNever);
  if (bug_ == Bug::kDoneNotSent)
    for (const TaskId& task : action.tasks) outcomes_.erase(task);
}

void Interpreter::perform(const exec::ForgetTask& action) {
  outcomes_.erase(action.task);
  page_.erase(action.task);
  acknowledged_.insert(action.task);
  if (owing_) tell_activity();
}

void Interpreter::perform(const exec::TellActivity&) { tell_activity(); }

}  // namespace pounce::simulator
