#include "simulator/supervisor.h"

#include "base/text.h"
#include "simulator/world.h"

namespace pounce::simulator {
namespace {
constexpr auto kOrderlyEnd = 3s;
constexpr auto kDismissedWithin = exec::ExecCore::kGrace + 1s;
constexpr auto kNetworkNotices = 12s;  // heartbeats that stay away
}  // namespace

Supervisor::Supervisor(World& world, const JobView& job, WorkerIndex index, Epoch first, Bug bug)
    : world_(world),
      instance_(*job.instance),
      lease_(*job.lease),
      job_(job),
      index_(index),
      bug_(bug),
      life_(world.fresh_supervisor()),
      epoch_(first) {
  daemon_seen_ = world_.time.now();
  hangs_ = world_.random.chance(world_.faults.worker_hang);
  later(world_.random.between(50ms, 2s), [](Supervisor& self) { self.hello(); });
  later(world_.random.between(200ms, 3s), [](Supervisor& self) { self.start_interpreter(); });
  later(1s, [](Supervisor& self) { self.second(); });
}

template <class Do>
void Supervisor::later(Duration wait, Do what) {
  world_.time.in(wait, [this, what] {
    if (alive_) what(*this);
  });
}

bool Supervisor::reachable() const { return alive_ && world_.time.now() >= cut_until_; }

bool Supervisor::heard_for(Duration time) const {
  return alive_ && wire_ && wire_->up() &&
         world_.time.now() - std::max(connected_since_, wire_->undisturbed_since()) > time;
}

// ---- pounced -------------------------------------------------------------------------------------------------------

void Supervisor::say(const lease::Event& event) {
  if (wire_) world_.from_worker(wire_, instance_, daemon_life_, own_link_, event);
}

void Supervisor::hello() {
  Daemon& daemon = world_.daemon(instance_);
  if (wire_ || !reachable() || daemon.life() == 0) return;
  daemon_life_ = daemon.life();
  const lease::WorkerLink fresh = world_.fresh_link();
  own_link_ = fresh;
  if (bug_ != Bug::kOldLink || link_.value == 0) link_ = fresh;
  wire_ = std::make_shared<Connection>(world_);
  connected_since_ = world_.time.now();
  wire_->notices(End::kClient, {[this, wire = std::weak_ptr(wire_)] { lost(wire.lock()); }, {}, {}});
  wire_->notices(End::kServer, {[this, at = &daemon, life = daemon_life_, link = fresh] {
                                  if (at->life() == life)
                                    at->hear_worker(link, lease::WorkerLost{lease_, index_, link, true});
                                },
                                {},
                                {}});
  daemon.connected(fresh, *this, wire_);
  say(lease::WorkerConnected{lease_,
                             index_,
                             fresh,
                             job_.job_identity.job,
                             job_.job_identity.restart,
                             "g1",
                             "",
                             key_of(life_),
                             {admitted_.begin(), admitted_.end()}});
  announce();
  tell_deaths();
  beat();
}

void Supervisor::lost(const Wire& wire) {
  if (wire != wire_) return;
  wire_.reset();
  later(world_.random.between(50ms, 2s), [](Supervisor& self) { self.hello(); });
}

// Again with each connection, until pounced has answered.
void Supervisor::tell_deaths() {
  if (untold_.empty() || !wire_) return;
  for (lease::InterpreterDied& died : untold_) {
    died.link = link_;
    say(died);
  }
  world_.ask_answer(wire_, *this, untold_.back().epoch);
}

void Supervisor::confirmed(Epoch told) {
  std::erase_if(untold_, [told](const lease::InterpreterDied& died) { return died.epoch <= told; });
}

void Supervisor::beat() {
  if (!wire_ || !wire_->up()) return;
  daemon_seen_ = world_.time.now();
  if (ending_) return say(lease::WorkerLost{lease_, index_, link_, false, state_});
  say(lease::WorkerSeen{lease_, index_, link_, leaving_ ? 0 : running_, 0, state_});
}

void Supervisor::admit(const SessionId& session) {
  admitted_.insert(session);
  if (interpreter_) interpreter_->admit(session);
}

void Supervisor::dismiss(const SessionId& session) {
  admitted_.erase(session);
  if (interpreter_ && bug_ != Bug::kDismissKept) interpreter_->dismiss(session);
  dismissed_at_[session] = world_.time.now();
  later(kDismissedWithin, [session, number = number_, at = world_.time.now()](Supervisor& self) {
    if (self.dismissed_at_[session] != at) return;  // once more since
    const Interpreter* there = self.world_.interpreter(number);
    if (there != nullptr && there == self.interpreter_.get() && !self.admitted_.contains(session) &&
        there->has_tasks_of(session))
      self.world_.fail("a dismissed session's tasks are kept");
  });
}

void Supervisor::end(bool only_if_idle) {
  if (hangs_ || ending_ || (leaving_ && only_if_idle)) return;
  leaving_ = only_if_idle;
  ending_ = !only_if_idle;
  leave_by_ = world_.time.now() + kLeave;
  later(kOrderlyEnd, [](Supervisor& self) { self.press_on(); });
  if (!interpreter_) return leave(only_if_idle);
  if (!only_if_idle) say(lease::WorkerLost{lease_, index_, link_});  // its farewell
  only_if_idle ? interpreter_->end_if_idle() : interpreter_->end();
}

// One that saves has longer.
void Supervisor::press_on() {
  if (!ending_ && !leaving_) return;
  if (state_ != NamespaceState::kSaving || world_.time.now() >= leave_by_) return leave(leaving_);
  later(1s, [](Supervisor& self) { self.press_on(); });
}

// ---- the interpreter -----------------------------------------------------------------------------------------------

void Supervisor::start_interpreter() {
  if (interpreter_ || ending_) return;
  ++epoch_.value;
  running_ = bug_ == Bug::kBusyForever ? running_ : 0;
  number_ = world_.ledger.add_interpreter(lease_);
  if (left_behind_) note_left_behind();
  interpreter_ = std::make_unique<Interpreter>(world_, *this, number_, bug_);
  world_.born(number_, *interpreter_, *this);
  for (const SessionId& session : admitted_) interpreter_->admit(session);
  announce();
}

void Supervisor::announce() {
  if (!wire_ || !interpreter_) return;
  world_.from_worker(wire_, instance_, daemon_life_, own_link_,
                     lease::InterpreterStarted{lease_, index_, link_, epoch_}, number_);
}

void Supervisor::activity(std::uint32_t running, NamespaceState state, bool stays) {
  const bool free_now = std::exchange(running_, running) > 0 && running == 0;
  const bool other_state = std::exchange(state_, state) != state;
  if (stays && std::exchange(leaving_, false)) beat();
  if (free_now || other_state) beat();
}

void Supervisor::interpreter_left() {
  if (!ending_ && !leaving_)
    return world_.fail("an interpreter left, and its supervisor takes it for one that crashed");
  leave(leaving_);
}

void Supervisor::crash() { interpreter_died({ErrorCode::kWorkerCrashed, "simulated", {}, {}}); }

void Supervisor::gave_up() { interpreter_died(error_of(ErrorCode::kCancelled, CauseCode::kTaskDidNotStop)); }

// What was on its way to it never started. The last thing that it says: it is not said again.
void Supervisor::tell_departure() {
  if (interpreter_ && bug_ != Bug::kLeavesInSilence)
    say(down(error_of(ErrorCode::kLeaseEnded, CauseCode::kIdle), interpreter_->started(), false));
}

lease::InterpreterDied Supervisor::down(const Error& error, const std::vector<TaskId>& started, bool restarting) const {
  return {lease_, index_, link_, epoch_, error, restarting, {std::to_string(number_), started}};
}

void Supervisor::interpreter_died(const Error& error) {
  if (!interpreter_) return;
  std::vector<TaskId> started = interpreter_->started();
  if (bug_ == Bug::kTooFewLost && !started.empty()) started.pop_back();
  const lease::InterpreterDied died = down(error, started, true);
  bury(true);
  if (ending_ || leaving_) return leave(leaving_);
  untold_.push_back(died);
  tell_deaths();
  later(world_.random.between(200ms, 2s), [](Supervisor& self) { self.start_interpreter(); });
}

// Not at once: it may be in the middle of a turn.
void Supervisor::bury(bool crashed) {
  if (!interpreter_) return;
  world_.buried(number_);
  InterpreterRecord& record = world_.ledger.interpreter(number_);
  record.dead = true;
  record.crashed = crashed;
  interpreter_->cut(50ms);
  world_.time.in(0ms, [dead = std::shared_ptr<Interpreter>(std::move(interpreter_))] {});
  if (bug_ != Bug::kBusyForever) running_ = 0;
  state_ = NamespaceState::kSaved;
}

// ---- life and death ------------------------------------------------------------------------------------------------

void Supervisor::second() {
  later(1s, [](Supervisor& self) { self.second(); });
  ++age_s_;
  if (!world_.settling()) trouble();
  if (!alive_) return;
  if (!wire_ && age_s_ > 2 && world_.random.chance(500'000)) hello();
  if (age_s_ % 5 == 0) beat();
  if (watchdog_bites()) leave(false);
}

// The interpreter's, its supervisor's, or its network's.
void Supervisor::trouble() {
  Random& random = world_.random;
  const Faults& faults = world_.faults;
  if (random.chance(faults.partition)) {
    cut_until_ = world_.time.now() + random.between(1s, 40s);
    if (wire_) wire_->cut(kNetworkNotices);
    if (interpreter_) interpreter_->cut(kNetworkNotices);
  }
  if (interpreter_ && random.chance(faults.stall)) interpreter_->stop(random.between(500ms, 15s));
  if (interpreter_ && random.chance(faults.cut)) interpreter_->cut(random.chance(500'000) ? 100ms : kNetworkNotices);
  if (wire_ && random.chance(faults.cut / 2)) wire_->cut(500ms);
  if (!interpreter_ || !random.chance(faults.interpreter_crash)) return;
  if (job_.resources.workers == 1 || !random.chance(250'000)) return crash();
  die();
  world_.start_again(*this, job_);
}

bool Supervisor::watchdog_bites() const {
  const TimePoint client = interpreter_ ? interpreter_->client_seen().value_or(TimePoint{}) : TimePoint{};
  return world_.time.now() - std::max(daemon_seen_, client) > (running_ > 0 ? kWatchdogBusy : kWatchdogIdle);
}

void Supervisor::leave(bool only_idle) {
  if (only_idle) tell_departure();
  say(lease::WorkerLost{lease_, index_, link_});
  const bool said = wire_ && wire_->up();
  bury(false);
  alive_ = false;
  if (said) world_.time.in(30ms, [wire = wire_] { wire->cut(50ms); });
  world_.supervisor_left(*this, job_, only_idle);
}

void Supervisor::leave_behind() {
  if (!alive_) return;
  left_behind_ = true;
  if (interpreter_) note_left_behind();
  world_.random.chance(500'000) ? die() : later(world_.random.between(0ms, 30s), [](Supervisor& self) { self.die(); });
}

void Supervisor::note_left_behind() {
  InterpreterRecord& record = world_.ledger.interpreter(number_);
  record.dead = record.left_behind = true;
}

void Supervisor::die() {
  if (!alive_) return;
  alive_ = false;
  bury(false);
  if (wire_) wire_->cut(world_.faults.partition == 0 ? 50ms : Millis(kNetworkNotices));
}

}  // namespace pounce::simulator
