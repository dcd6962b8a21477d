// What the person at a simulated kernel does: submits, cancels, gives back, stops, kills and closes it.
#include <algorithm>

#include "simulator/world.h"

namespace pounce::simulator {
namespace {

constexpr std::uint32_t kTooMuch = 9;  // more GPUs than any node has
constexpr std::uint32_t kBurst = 12;   // short tasks at once: several are sent ahead

}  // namespace

// Every second kernel's tasks for one GPU go to a pool.
Resources Client::resources_for(std::uint32_t gpus) const {
  Resources resources;
  resources.class_name = "cheetah";
  resources.gpus = gpus;
  resources.workers = gpus == 2 ? 3 : 1;
  if (gpus != 1 || number() % 2 == 0) return resources;
  resources.leases_least = number() % 4 == 1 ? 2 : 0;
  resources.leases_most = 3;
  return resources;
}

void Client::second() {
  if (!alive_) return;
  world_.time.in(1s, [this] { second(); });
  if (stopped()) return;
  if (world_.random.chance(700'000)) connect();
  if (++age_s_ % 5 == 0) say(lease::SessionSeen{id_});
  if (!world_.settling()) trouble();
  if (!alive_) return;
  if (!world_.settling() && world_.random.chance(60'000)) submit();
  cancel_some();
}

void Client::trouble() {
  Random& random = world_.random;
  const Faults& faults = world_.faults;
  if (random.chance(faults.session_kill)) return die();
  if (random.chance(faults.session_close)) return close();
  if (random.chance(faults.release)) release();
  for (const auto& [place, link] : links_)
    if (random.chance(faults.stall)) link->stall(random.between(500ms, 15s));
  if (!random.chance(faults.stop)) return;
  stopped_until_ = world_.time.now() + random.between(1s, 40s);  // a notebook computer's lid
  if (daemon_) daemon_->hold(End::kClient, stopped_until_);
  for (const auto& [place, link] : links_) link->stop(stopped_until_);
}

void Client::submit() {
  Random& random = world_.random;
  const std::uint32_t gpus = random.chance(30'000) ? kTooMuch : random.below(2) + 1;
  const Resources resources = resources_for(gpus);
  if (random.chance(150'000)) {
    for (std::uint32_t i = 0; i < kBurst; ++i) submit_one(resources, 1ms, Nature::kPlain);
    return;
  }
  for (std::uint32_t left = random.below(4) + 1; left > 0; --left) {
    Nature nature = Nature::kPlain;
    if (random.chance(world_.faults.deadly)) nature = Nature::kDeadly;
    if (random.chance(world_.faults.stubborn)) nature = Nature::kStubborn;
    if (random.chance(50'000)) nature = Nature::kEndless;
    const Millis length = random.chance(300'000) ? random.between(1ms, 100ms) : random.between(100ms, 20s);
    submit_one(resources, nature == Nature::kEndless ? Millis(10h) : length, nature);
  }
}

void Client::submit_one(const Resources& resources, Millis length, Nature nature) {
  const TaskId id = world_.fresh_task();
  TaskRecord& task = world_.ledger.add(id);
  task.session = id_;
  task.gpus = resources.gpus;
  task.nature = nature;
  task.length = length;
  task.large = world_.random.chance(200'000);
  task.retries = world_.random.chance(300'000) ? world_.random.below(3) : 0;
  tasks_.push_back(id);
  ++asked;
  happened(task::TaskSubmitted{id, resources, task.retries + (bug_ == Bug::kRetriedUnasked ? 1 : 0)});
}

// Nothing runs for ever: once there is no more trouble, what would is cancelled.
void Client::cancel_some() {
  for (const TaskId& id : std::vector(tasks_)) {
    TaskRecord& task = world_.ledger.task(id);
    const bool now = task.nature == Nature::kEndless ? world_.settling() || world_.random.chance(50'000)
                                                     : world_.random.chance(5'000);
    if (!now || task.cancel_asked) continue;
    if (task.nature != Nature::kEndless && world_.random.chance(200'000)) {
      happened(task::TaskMoved{id, resources_for(3 - std::min(task.gpus, 2u))});
      continue;
    }
    task.cancel_asked = true;
    happened(task::CancelRequested{id, world_.random.between(100ms, 5s),
                                   task.nature != Nature::kEndless && world_.random.chance(200'000)});
  }
}

void Client::release() {
  const Error why = error_of(ErrorCode::kLeaseEnded, CauseCode::kReleased);
  for (const Request& request : machine_.demand())
    for (const LeaseId& lease : request.holds) {
      const bool now = world_.random.chance(500'000);
      say(lease::ReleaseAsked{lease, now, why});
    }
}

void Client::die() {
  alive_ = false;
  if (daemon_) daemon_->cut(50ms);
  for (auto& [place, link] : links_) link->close();
  links_.clear();
  world_.kernel_gone(instance_);
}

void Client::close() {
  for (const TaskId& task : tasks_) world_.ledger.task(task).cancel_asked = true;
  happened(task::ClientClosing{});
  say(lease::SessionClosed{id_});
  if (!tasks_.empty()) world_.fail("a client closed, and a task of it has not ended (I5)");
  alive_ = false;
  if (daemon_) world_.time.in(100ms, [wire = daemon_] { wire->cut(50ms); });
  world_.kernel_gone(instance_);
}

}  // namespace pounce::simulator
