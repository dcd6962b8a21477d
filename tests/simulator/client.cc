#include "simulator/client.h"

#include "simulator/world.h"

namespace pounce::simulator {
namespace {
constexpr std::uint32_t kTooMuch = 9;  // more GPUs than any node has
}

Client::Client(World& world, const InstanceId& instance, const SessionId& id)
    : world_(world), instance_(instance), id_(id) {
  world_.time.in(world_.random.between(0ms, 1s), [this] { second(); });
}

template <class E>
void Client::say(E event) {
  Daemon& daemon = world_.daemon(instance_);
  if (daemon_life_ == 0 || daemon.life() != daemon_life_) return;
  spoken_ = std::max(spoken_, world_.time.now() + world_.random.between(0ms, 20ms));
  world_.deliver(daemon, daemon_life_, spoken_, event);
}

void Client::second() {
  if (!alive_) return;
  world_.time.in(1s, [this] { second(); });
  Daemon& daemon = world_.daemon(instance_);
  if (daemon.life() != 0 && daemon.life() != daemon_life_ && world_.random.chance(500'000)) {
    daemon_life_ = daemon.life();
    say(lease::SessionOpened{id_});
    tell_demand();
  }
  if (++age_s_ % 5 == 0) say(lease::SessionSeen{id_});
  if (age_s_ % 20 == 0) tell_demand();
  if (!world_.calm() && world_.random.chance(world_.faults.session_kill)) {
    alive_ = false;
    return;
  }
  if (!world_.calm() && world_.random.chance(world_.faults.session_close)) {
    say(lease::SessionClosed{id_});
    alive_ = false;
    return;
  }
  if (!world_.calm() && world_.random.chance(world_.faults.release)) release();
  if (!world_.settling() && world_.random.chance(25'000)) new_tasks();
  for (const auto& [request, entry] : requests_) send(request);
}

void Client::release() {
  const Error why{ErrorCode::kLeaseEnded, "Released by a user.", {}, {}};
  for (const auto& [id, request] : requests_)
    if (request.holds) say(lease::ReleaseAsked{*request.holds, world_.random.chance(500'000), why});
}

void Client::new_tasks() {
  const RequestId id{world_.random.chance(30'000) ? kTooMuch : world_.random.below(2) + 1};
  Request& request = requests_[id];
  request.resources.class_name = "cheetah";
  request.resources.gpus = id.value;
  request.resources.workers = id.value == 2 ? 3 : 1;
  const std::uint32_t tasks = world_.random.below(4) + 1;
  request.waiting += tasks;
  if (std::exchange(request.told_end, false)) ++request.generation;
  asked += tasks;
  tell_demand();
}

void Client::tell_demand() {
  lease::DemandChanged demand{id_, {}};
  for (const auto& [id, request] : requests_) {
    lease::Request told{id, request.resources, request.waiting, request.running, {}, request.generation};
    if (request.holds) told.holds.push_back(*request.holds);
    if (request.waiting + request.running > 0 || request.holds) demand.requests.push_back(std::move(told));
  }
  say(std::move(demand));
}

void Client::send(RequestId id) {
  Request& request = requests_[id];
  bool sent = false;
  while (alive_ && request.holds && request.running < request.resources.workers && request.waiting > 0) {
    if (!world_.run_somewhere(*request.holds, id_, id, world_.random.between(10ms, 20s))) break;
    --request.waiting;
    ++request.running;
    sent = true;
  }
  if (sent) tell_demand();
}

void Client::task_ended(RequestId id, bool ok) {
  if (!alive_) return;
  --requests_[id].running;
  ++(ok ? done : lost);
  send(id);
  tell_demand();
}

void Client::grant(const lease::GrantWorker& granted) {
  if (!alive_) return;
  requests_[granted.request].holds = granted.lease;
  send(granted.request);
}

void Client::lease_ended(const lease::TellLeaseEnded& ended) {
  if (!alive_) return;
  Request& request = requests_[ended.request];
  if (request.holds == ended.lease) request.holds.reset();
  request.told_end = true;
  if (ended.error.code == ErrorCode::kJobCancelled) failed += std::exchange(request.waiting, 0);
  tell_demand();
}

void Client::request_failed(const lease::TellRequestFailed& told) {
  if (!alive_) return;
  Request& request = requests_[told.request];
  request.told_end = true;
  failed += std::exchange(request.waiting, 0);
  tell_demand();
}

std::uint32_t Client::waiting() const {
  std::uint32_t sum = 0;
  for (const auto& [id, request] : requests_) sum += request.waiting;
  return sum;
}

std::uint32_t Client::running() const {
  std::uint32_t sum = 0;
  for (const auto& [id, request] : requests_) sum += request.running;
  return sum;
}

}  // namespace pounce::simulator
