#include "simulator/data_link.h"

#include "simulator/world.h"

namespace pounce::simulator {
namespace {
constexpr auto kLongestPause = 1000ms;
}

// "client 2, place 7f3e.0@1: what"
template <class... Words>
void DataLink::note(const Words&... words) {
  world_.note(" client ", client_.number(), ", place ", Short{place_.lease}, ".", place_.worker.value, "@",
              epoch_.value, ": ", words...);
}

void DataLink::try_again(Millis pause) {
  world_.time.in(pause, [self = shared_from_this()] { self->open(); });
}

// The grant may have overtaken the admission at the worker: it is tried again, and so is one that cannot be reached.
void DataLink::open() {
  if (closed_ || wire_ || !client_.alive()) return;
  Interpreter* interpreter = world_.reachable(to_);
  if (interpreter == nullptr || interpreter->stopped() || client_.stopped() || !interpreter->admits(client_.id())) {
    try_again(pause_);
    pause_ = std::min(2 * pause_, kLongestPause);
    return;
  }
  pause_ = 5ms;
  wire_ = std::make_shared<Connection>(world_);
  const auto happened = [me = weak_from_this(),
                         wire = std::weak_ptr(wire_)](auto event) {  // a wire that kept us would live for ever
    return [=] {
      const auto self = me.lock();
      if (self && !self->closed_ && self->attached_ && self->wire_ == wire.lock()) self->client_.happened(event);
    };
  };
  const auto lost = [me = weak_from_this(), wire = std::weak_ptr(wire_)] {
    if (const auto self = me.lock()) self->lost(wire.lock());
  };
  wire_->notices(End::kClient,
                 {lost, happened(task::WorkerSilent{place_, epoch_}), happened(task::WorkerSeen{place_, epoch_})});
  wire_->send(
      End::kServer,
      [self = shared_from_this(), wire = wire_] {
        if (Interpreter* there = self->world_.interpreter(self->to_)) there->attach(self->client_.id(), self, wire);
      },
      Connection::Repeat::kNever);
}

void DataLink::lost(const Wire& wire) {
  if (closed_ || wire != wire_ || !client_.alive()) return;
  note("lost");
  wire_.reset();
  const bool was_attached = std::exchange(attached_, false);
  if (was_attached) client_.link_lost(place_, epoch_);
  try_again(world_.random.between(0ms, 200ms));
}

void DataLink::close() {
  closed_ = true;
  attached_ = false;
  if (wire_) wire_->cut(50ms);
  wire_.reset();
}

void DataLink::stop(TimePoint until) {
  if (wire_) wire_->hold(End::kClient, until);
}

void DataLink::stall(Millis length) {
  if (wire_) wire_->stall(length);
}

TimePoint DataLink::undisturbed_since() const {
  if (!wire_ || !attached_) return TimePoint::max();
  return std::max(attached_at_, wire_->undisturbed_since());
}

void DataLink::send(exec::Event event) {
  if (const auto* task = std::get_if<exec::TaskArrived>(&event))
    note("task ", number_of(task->task), " is sent, attempt ", task->attempt);
  if (const auto* cancel = std::get_if<exec::CancelRequested>(&event)) note("cancel of task ", number_of(cancel->task));
  if (!wire_) return;
  wire_->send(End::kServer,
              [&world = world_, to = to_, session = client_.id(), wire = wire_, event = std::move(event)] {
                if (Interpreter* there = world.interpreter(to)) there->hear(session, wire, event);
              });
}

void DataLink::repeat(const TaskId& task) {
  const std::uint32_t attempt =
      world_.ledger.task(task).runs.empty() ? 0 : world_.ledger.task(task).runs.back().attempt;
  world_.time.in(world_.random.between(30ms, 3s), [self = shared_from_this(), wire = wire_, task, attempt] {
    if (!self->closed_ && wire && wire == self->wire_) self->send(exec::TaskArrived{self->client_.id(), task, attempt});
  });
}

void DataLink::attached(const Wire& wire) {
  if (closed_ || wire != wire_ || !client_.alive()) return;
  note("attached");
  attached_ = true;
  attached_at_ = world_.time.now();
  client_.happened(task::WorkerAttached{place_, epoch_});
}

void DataLink::started(const TaskId& task) {
  note("task ", number_of(task), " started");
  if (!closed_) client_.happened(task::TaskStarted{place_, epoch_, task});
}

void DataLink::outcome(const Wire& wire, const TaskId& task, const Outcome& outcome, bool whole) {
  note("outcome of task ", number_of(task), whole ? "" : " begins");
  if (!closed_ && wire == wire_) client_.outcome(place_, epoch_, task, outcome, whole);
}

void DataLink::answered(const exec::AnswerStates& answer) {
  for (std::size_t i = 0; i < answer.tasks.size() && !closed_; ++i) {
    note("task ", number_of(answer.tasks[i]), " is ", static_cast<int>(answer.states[i]));
    client_.answered(place_, epoch_, answer.tasks[i], answer.states[i]);
  }
}

}  // namespace pounce::simulator
