#include "client/calls_under_way.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace pounce::client {
namespace {

std::int64_t not_negative(std::int64_t ns) { return std::max<std::int64_t>(ns, 0); }

std::int64_t sending_now() { return Clock::now().time_since_epoch().count(); }

}  // namespace

void CallsUnderWay::add(Call call) {
  for (const ObjectId& id : call.objects) objects_.hold(id);
  const TaskId task = call.task;
  calls_.emplace(task, UnderWay{std::move(call), 0, {}, false});
}

bool CallsUnderWay::keep_result(const TaskId& task) {
  const auto found = calls_.find(task);
  if (found == calls_.end()) return false;
  found->second.keeps = true;
  if (WorkerLink* link = workers_.link_at(found->second.place)) link->tasks().keep_outcome(task, true);
  return true;
}

WorkerLink* CallsUnderWay::link_of(const TaskId& task) const {
  const auto found = calls_.find(task);
  return found == calls_.end() ? nullptr : workers_.link_at(found->second.place);
}

std::uint64_t CallsUnderWay::bytes_there(const task::WorkerRef& place, const TaskId& task) const {
  const auto found = calls_.find(task);
  WorkerLink* link = workers_.link_at(place);
  if (found == calls_.end() || link == nullptr) return 0;
  std::uint64_t bytes = 0;
  for (const ObjectId& id : found->second.call.objects) bytes += link->objects().held().bytes_of(id);
  return bytes;
}

std::vector<TaskId> CallsUnderWay::that_need(const ObjectId& object, const task::WorkerRef& place) const {
  std::vector<TaskId> tasks;
  for (const auto& [task, one] : calls_)
    if (one.place == place && std::ranges::count(one.call.objects, object) > 0) tasks.push_back(task);
  return tasks;
}

void CallsUnderWay::send(const task::SendTask& order, const EventData& data) {
  WorkerLink* link = workers_.link_at(order.place);
  const auto found = calls_.find(order.task);
  if (link == nullptr || found == calls_.end()) return;
  if (WorkerLink* last = workers_.link_at(found->second.place)) last->tasks().functions().ended(order.task);
  found->second.place = order.place;
  // A task that its own submit() sends has never waited: the time spent on pickling counts as sending.
  found->second.sent_ns = data.submitted_ns != 0 ? data.submitted_ns : sending_now();
  if (found->second.keeps) link->tasks().keep_outcome(order.task, true);
  link->tasks().send(found->second.call, order.attempt, objects_.objects());
  objects_.peer_transfers().see_to_wanted(order.place);
}

void CallsUnderWay::acknowledge(const task::Acknowledge& order, const EventData& data) {
  WorkerLink* link = workers_.link_at(order.place);
  if (link == nullptr) return;
  const bool came = data.outcome != nullptr && data.outcome->incoming;
  if (!came) return link->tasks().acknowledge(order.task, Clock::now());
  const ObjectId kept = keep_arrived(order, *data.outcome->incoming);
  const Object* const object = kept.empty() ? nullptr : objects_.objects().find(kept);
  if (object != nullptr && link->objects().may_keep(*object)) {
    link->tasks().acknowledge_kept(order.task, kept, *object);
    return objects_.peer_transfers().made(order.place, kept);
  }
  if (data.outcome->incoming->chunked()) return link->tasks().acknowledge_at_once(order.task);
  link->tasks().acknowledge(order.task, Clock::now());
}

// Runs before the user has any of the result and may change it. Empty: the result is not kept.
ObjectId CallsUnderWay::keep_arrived(const task::Acknowledge& order, const Incoming& outcome) {
  if (!outcome.kept() || !outcome.header().ok) return {};
  const auto found = calls_.find(order.task);
  if (found == calls_.end() || found->second.place != order.place) return {};
  return objects_.keep_result(order.task, outcome);
}

void CallsUnderWay::deliver(const task::Deliver& order, const EventData& data) {
  const auto found = calls_.find(order.task);
  if (found == calls_.end() || data.outcome == nullptr) return;
  Ended ended;
  ended.task = order.task;
  if (data.outcome->incoming) {
    Incoming& incoming = *data.outcome->incoming;
    ended.ok = incoming.header().ok;
    if (!ended.ok) ended.error = incoming.header().error.value_or(Error{});
    ended.timings = timings_of(found->second, incoming.header(), data.outcome->received_ns);
    ended.pickle = incoming.take_pickle();
    ended.buffers = incoming.take_buffers();
    ended.raised = !ended.ok && !ended.pickle.bytes.empty();
  } else {
    ended.error = data.outcome->incoming.error();
  }
  if (!ended.ok) {
    if (const Workers::Worker* worker = workers_.find(found->second.place)) {
      ended.error.context.emplace("node", worker->who.node);
      ended.error.context.emplace("devices", worker->who.devices);
    }
  }
  end(std::move(ended));
}

void CallsUnderWay::fail(const task::Fail& order) {
  Ended ended;
  ended.task = order.task;
  ended.error = order.lease == LeaseId{} ? order.error : leases_.with_evidence(order.error, order.lease);
  end(std::move(ended));
}

void CallsUnderWay::end(Ended ended) {
  const auto found = calls_.find(ended.task);
  if (found != calls_.end()) {
    for (const ObjectId& id : found->second.call.objects) objects_.let_go(id);
    const auto place = found->second.place;
    const bool keeps = found->second.keeps;
    calls_.erase(found);
    if (WorkerLink* link = workers_.link_at(place)) {
      link->tasks().functions().ended(ended.task);
      if (keeps) link->tasks().keep_outcome(ended.task, false);
      objects_.drop_unneeded(place, *link);
    }
  }
  if (!ended.ok) objects_.drop_kept(ended.task);
  events_.push(std::move(ended));
}

Timings CallsUnderWay::timings_of(const UnderWay& under_way, const protocol::Outcome& outcome,
                                  std::int64_t received_ns) const {
  Timings timings;
  const Workers::Worker* const worker = workers_.find(under_way.place);
  if (worker == nullptr) return timings;
  const ClockOffset& clock = worker->link->clock();
  const std::int64_t submitted = under_way.call.submitted_ns, sent = under_way.sent_ns;
  // The wait has three parts: for the job, for the job's Python, and for room there. The first and the last are the
  // queue.
  const std::int64_t started = std::clamp(leases_.started_ns(under_way.place.lease), submitted, sent);
  const std::int64_t ready = std::clamp(worker->attached_ns, started, sent);
  timings.queue_ns = (started - submitted) + (sent - ready);
  timings.boot_ns = ready - started;
  const bool ran = outcome.run.run_start_ns != 0;  // else its arguments could not be unpickled there
  const std::int64_t run_start = ran ? outcome.run.run_start_ns : outcome.received_ns;
  const std::int64_t run_end = ran ? outcome.run.run_end_ns : run_start;
  timings.send_ns =
      not_negative(clock.to_ours(outcome.received_ns) - sent) + not_negative(run_start - outcome.received_ns);
  timings.run_ns = run_end - run_start;
  timings.receive_ns =
      not_negative(outcome.sent_ns - run_end) + not_negative(received_ns - clock.to_ours(outcome.sent_ns));
  timings.arrived_ns = received_ns;
  timings.figures = outcome.run;
  return timings;
}

}  // namespace pounce::client
