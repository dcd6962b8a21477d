#include "simulator/connection.h"

#include "simulator/world.h"

namespace pounce::simulator {
namespace {
constexpr auto kSilence = 5s;  // src/client/worker_connection.h
}

void Connection::send(End to, std::function<void()> arrive, Repeat repeat, Millis longest) {
  if (!up_ && !(lingers_ && to == End::kServer)) return;  // ZeroMQ takes it and says nothing
  TimePoint& last = last_[index(to)];
  last = std::max(last, world_.time.now() + world_.random.between(0ms, longest));
  const int times = repeat == Repeat::kMaybe && world_.random.chance(world_.faults.repeated) ? 2 : 1;
  for (int i = 0; i < times; ++i)
    world_.time.at(last, [self = shared_from_this(), to, arrive] { self->deliver(to, arrive); });
}

void Connection::deliver(End to, const std::function<void()>& arrive) {
  if (!up_ && !(lingers_ && to == End::kServer)) return;
  const TimePoint held = held_until_[index(to)];
  if (held > world_.time.now())
    return world_.time.at(held, [self = shared_from_this(), to, arrive] { self->deliver(to, arrive); });
  world_.count_event();
  arrive();
}

void Connection::hold(End end, TimePoint until) {
  TimePoint& held = held_until_[index(end)];
  undisturbed_since_ = std::max(held, until);
  if (held <= world_.time.now()) held = until;  // else it is held already: longer would put what waits out of order
}

void Connection::stall(Millis length) {
  const TimePoint until = world_.time.now() + length;
  hold(End::kServer, until);
  hold(End::kClient, until);
  if (length <= kSilence) return;
  const auto tell = [self = shared_from_this()](std::function<void()> Notices::* what) {
    if (const auto& say = self->notices_[index(End::kClient)].*what; self->up_ && say) say();
  };
  world_.time.in(kSilence, [tell] { tell(&Notices::silent); });
  world_.time.in(length, [tell] { tell(&Notices::seen); });
}

// Whoever waits for an answer counts it as silent first.
void Connection::notice(End end, Millis within) {
  const Millis after = world_.random.between(0ms, within);
  const auto tell = [self = shared_from_this(), end](std::function<void()> Notices::* what) {
    if (const auto say = self->notices_[index(end)].*what) say();
  };
  if (after > kSilence) world_.time.in(kSilence, [tell] { tell(&Notices::silent); });
  world_.time.in(after, [tell] { tell(&Notices::lost); });
}

void Connection::cut(Millis noticed_within) {
  if (!up_) return;
  up_ = false;
  lingers_ = world_.random.chance(world_.faults.linger);
  if (lingers_) hold(End::kServer, world_.time.now() + world_.random.between(0ms, 2 * noticed_within));
  notice(End::kServer, noticed_within);
  notice(End::kClient, noticed_within);
}

}  // namespace pounce::simulator
