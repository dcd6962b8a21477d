#include "sim/fake_session.h"

#include "sim/world.h"

namespace pounce::sim {
namespace {
constexpr std::uint32_t kTooMuch = 9;  // more GPUs than any node has
}

FakeSession::FakeSession(World& world, const InstanceId& instance, const SessionId& id)
    : world_(world), instance_(instance), id_(id) {
  world_.time.in(world_.random.between(0ms, 1s), [this] { second(); });
}

template <class E>
void FakeSession::say(E event) {
  FakeDaemon& daemon = world_.daemon(instance_);
  if (daemon_life_ == 0 || daemon.life() != daemon_life_) return;
  spoken_ = std::max(spoken_, world_.time.now() + world_.random.between(0ms, 20ms));
  world_.deliver(daemon, daemon_life_, spoken_, event);
}

void FakeSession::second() {
  if (!alive_) return;
  world_.time.in(1s, [this] { second(); });
  FakeDaemon& daemon = world_.daemon(instance_);
  if (daemon.life() != 0 && daemon.life() != daemon_life_ && world_.random.chance(500'000)) {
    daemon_life_ = daemon.life();
    say(lease::SessionOpened{id_});
    tell_demand();
  }
  if (++age_s_ % 5 == 0) say(lease::SessionHeard{id_});
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
  for (const auto& [want, entry] : wants_) send(want);
}

void FakeSession::release() {
  const Error why{ErrorCode::kLeaseEnded, "Released by a person.", {}, {}};
  for (const auto& [id, want] : wants_)
    if (want.holds) say(lease::ReleaseAsked{*want.holds, world_.random.chance(500'000), why});
}

void FakeSession::new_tasks() {
  const WantId id{world_.random.chance(30'000) ? kTooMuch : world_.random.below(2) + 1};
  Want& want = wants_[id];
  want.resources.class_name = "cheetah";
  want.resources.gpus = id.value;
  want.resources.workers = id.value == 2 ? 3 : 1;
  const std::uint32_t tasks = world_.random.below(4) + 1;
  want.waiting += tasks;
  asked += tasks;
  tell_demand();
}

void FakeSession::tell_demand() {
  lease::DemandChanged demand{id_, {}};
  for (const auto& [id, want] : wants_) {
    lease::Want told{id, want.resources, want.waiting, want.running, {}};
    if (want.holds) told.holds.push_back(*want.holds);
    if (want.waiting + want.running > 0 || want.holds) demand.wants.push_back(std::move(told));
  }
  say(std::move(demand));
}

void FakeSession::send(WantId id) {
  Want& want = wants_[id];
  bool sent = false;
  while (alive_ && want.holds && want.running < want.resources.workers && want.waiting > 0) {
    if (!world_.run_somewhere(*want.holds, id_, id, world_.random.between(10ms, 20s))) break;
    --want.waiting;
    ++want.running;
    sent = true;
  }
  if (sent) tell_demand();
}

void FakeSession::task_ended(WantId id, bool ok) {
  if (!alive_) return;
  --wants_[id].running;
  ++(ok ? done : lost);
  send(id);
  tell_demand();
}

void FakeSession::grant(const lease::GrantWorker& granted) {
  if (!alive_) return;
  wants_[granted.want].holds = granted.lease;
  send(granted.want);
}

void FakeSession::lease_ended(const lease::TellLeaseEnded& ended) {
  if (!alive_) return;
  Want& want = wants_[ended.want];
  if (want.holds == ended.lease) want.holds.reset();
  if (ended.error.code == ErrorCode::kJobCancelled) failed += std::exchange(want.waiting, 0);
  tell_demand();
}

void FakeSession::want_failed(const lease::TellWantFailed& told) {
  if (!alive_) return;
  failed += std::exchange(wants_[told.want].waiting, 0);
  tell_demand();
}

std::uint32_t FakeSession::waiting() const {
  std::uint32_t sum = 0;
  for (const auto& [id, want] : wants_) sum += want.waiting;
  return sum;
}

std::uint32_t FakeSession::running() const {
  std::uint32_t sum = 0;
  for (const auto& [id, want] : wants_) sum += want.running;
  return sum;
}

}  // namespace pounce::sim
