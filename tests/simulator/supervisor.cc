#include "simulator/supervisor.h"

#include "simulator/world.h"

namespace pounce::simulator {

Supervisor::Supervisor(World& world, const JobView& job, WorkerIndex index, Epoch first)
    : world_(world), instance_(*job.instance), lease_(*job.lease), job_(job), index_(index), epoch_(first) {
  daemon_seen_ = client_seen_ = world_.time.now();
  hangs_ = world_.random.chance(world_.faults.worker_hang);
  world_.time.in(world_.random.between(50ms, 2s), [this] { hello(); });
  world_.time.in(world_.random.between(200ms, 3s), [this] { interpreter_up(); });
  world_.time.in(1s, [this] { second(); });
}

bool Supervisor::cut_off() const { return world_.time.now() < cut_until_; }

template <class E>
void Supervisor::say(E event) {
  Daemon& daemon = world_.daemon(instance_);
  if (cut_off() || daemon_life_ == 0 || daemon.life() != daemon_life_) return;
  spoken_ = std::max(spoken_, world_.time.now() + world_.random.between(0ms, 20ms));
  world_.deliver(daemon, daemon_life_, spoken_, event);
}

void Supervisor::hello() {
  Daemon& daemon = world_.daemon(instance_);
  if (!alive_ || cut_off() || daemon.life() == 0) return;
  daemon_life_ = daemon.life();
  link_ = world_.fresh_link();
  say(lease::WorkerConnected{lease_, index_, link_, job_.job_identity.job, job_.job_identity.restart, "g1", ""});
  if (ready_) say(lease::InterpreterStarted{lease_, index_, link_, epoch_});
  beat();
}

void Supervisor::beat() {
  if (daemon_life_ == 0 || daemon_life_ != world_.daemon(instance_).life() || cut_off()) return;
  daemon_seen_ = world_.time.now();
  say(lease::WorkerSeen{lease_, index_, link_, static_cast<std::uint32_t>(tasks_.size())});
}

void Supervisor::second() {
  if (!alive_) return;
  world_.time.in(1s, [this] { second(); });
  ++age_s_;
  if (world_.random.chance(world_.faults.partition)) cut_until_ = world_.time.now() + world_.random.between(1s, 40s);
  if (ready_ && world_.random.chance(world_.faults.interpreter_crash)) crash();
  if (!alive_) return;
  if (daemon_life_ != world_.daemon(instance_).life() && age_s_ > 2) hello();
  if (age_s_ % 5 == 0) beat();
  if (!tasks_.empty()) client_seen_ = world_.time.now();  // its client beats on the direct connection
  const auto silent = world_.time.now() - std::max(daemon_seen_, client_seen_);
  if (silent > 150s && tasks_.empty()) leave(false);  // the watchdog
}

void Supervisor::interpreter_up() {
  if (!alive_) return;
  ++epoch_.value;
  ready_ = true;
  say(lease::InterpreterStarted{lease_, index_, link_, epoch_});
}

// The interpreter's, or now and then its supervisor's: then a worker group of several starts another.
void Supervisor::crash() {
  if (job_.resources.workers == 1 || !world_.random.chance(250'000)) return interpreter_down();
  die();
  world_.start_again(*this, job_);
}

void Supervisor::interpreter_down() {
  ready_ = false;
  lose_tasks();
  say(lease::InterpreterDied{lease_, index_, link_, epoch_, {ErrorCode::kWorkerCrashed, "simulated", {}, {}}, true});
  world_.time.in(world_.random.between(200ms, 2s), [this] { interpreter_up(); });
}

bool Supervisor::run(const SessionId& session, RequestId request, Millis length) {
  if (!alive_ || !ready_ || !tasks_.empty() || !admitted_.contains(session)) return false;
  client_seen_ = world_.time.now();
  const std::uint64_t id = next_task_++;
  tasks_[id] = {session, request};
  world_.time.in(length, [this, id] {
    const auto found = tasks_.find(id);
    if (found == tasks_.end()) return;
    const Task task = found->second;
    tasks_.erase(found);
    world_.task_ended(task.session, task.request, true);
  });
  return true;
}

void Supervisor::lose_tasks() {
  const auto lost = std::exchange(tasks_, {});
  for (const auto& [id, task] : lost) world_.task_ended(task.session, task.request, false);
}

void Supervisor::dismiss(const SessionId& session) {
  admitted_.erase(session);
  std::erase_if(tasks_, [&session](const auto& entry) { return entry.second.session == session; });
}

void Supervisor::end(bool only_if_idle) {
  if (!alive_ || hangs_) return;
  if (only_if_idle && !tasks_.empty()) return beat();
  leave(only_if_idle);
}

void Supervisor::leave(bool only_idle) {
  die(false);
  world_.worker_left(*this, job_, only_idle);
}

void Supervisor::die(bool cut) {
  if (!alive_) return;
  alive_ = ready_ = false;
  lose_tasks();
  if (world_.faults.partition == 0 || world_.random.chance(800'000)) say(lease::WorkerLost{lease_, index_, link_, cut});
}

}  // namespace pounce::simulator
