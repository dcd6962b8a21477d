// Pools: which of a queue's requests are wanted, by what is known of its work. To pounced each of them is an ordinary
// request with one lease at a time.
#include <algorithm>

#include "core/task/machine.h"

namespace pounce::task {

void Machine::plan_pools() {
  for (auto& [id, queue] : queues_)
    if (queue.resources.is_pool()) plan_pool(id, queue);
}

void Machine::plan_pool(QueueId id, Queue& queue) {
  const PoolView view = view_of(id, queue);
  const std::uint32_t wanted = leases_wanted(view);
  want_leases(id, queue, wanted);
  queue.replan_due = view.waiting > 0 && wanted < view.most ? now_ + settings_.replan : TimePoint::max();
}

void Machine::want_leases(QueueId id, Queue& queue, std::uint32_t wanted) {
  while (queue.requests.size() < wanted) add_request(id);
  queue.wanted = 0;
  std::vector<RequestId> order = queue.requests;
  std::ranges::sort(order, {}, [this](RequestId request) { return std::pair(rank_of(requests_.at(request)), request); });
  for (const RequestId request : order) {
    RequestRecord& record = requests_.at(request);
    const bool now_wanted = wanted > 0 && !record.refused;
    if (now_wanted) --wanted, ++queue.wanted;
    if (now_wanted && !record.wanted) record.wanted_since = now_;
    demand_changed_ |= now_wanted != record.wanted;
    record.wanted = now_wanted;
  }
}

// Requests with running tasks come first, then those with workers, then those that are wanted already.
int Machine::rank_of(const RequestRecord& record) {
  if (record.running > 0) return 0;
  if (record.workers > 0) return 1;
  return record.wanted ? 2 : 3;
}

void Machine::on(const MoreToCome& event) {
  Queue& queue = queues_.at(queue_for(event.resources));
  const auto fewer = static_cast<std::uint64_t>(-event.tasks);
  if (event.tasks >= 0)
    queue.to_come += static_cast<std::uint64_t>(event.tasks);
  else
    queue.to_come -= std::min(queue.to_come, fewer);
  demand_changed_ = true;
}

// No node fits its workers together: from now on a pool of as many workers serves such requests.
void Machine::take_apart(QueueId id) {
  const Resources together = queues_.at(id).resources;
  const QueueId pool = queue_for(together.apart());
  queue_ids_[together] = pool;
  queues_.at(pool).to_come += std::exchange(queues_.at(id).to_come, 0);
  const auto waiting = queues_.at(id).waiting;
  for (const auto& [sequence, task] : waiting) on(TaskMoved{task, together});
}

void Machine::on(const RequestBound& event) {
  const auto found = requests_.find(event.request);
  if (found == requests_.end() || found->second.bound == event.bound) return;
  found->second.bound = event.bound;
  demand_changed_ = true;
}

std::uint32_t Machine::workers_for(const Resources& resources) const {
  const Queue* queue = queue_of(resources);
  if (queue == nullptr) return 0;
  std::uint32_t count = 0;
  for (const RequestId id : queue->requests) {
    const RequestRecord& record = requests_.at(id);
    if (record.wanted || record.workers > 0) count += std::max(record.workers, queue->resources.workers);
  }
  return count;
}

std::uint32_t Machine::free_workers(const Resources& resources) const {
  const Queue* queue = queue_of(resources);
  return static_cast<std::uint32_t>(std::ranges::count_if(workers_, [&](const auto& entry) {
    const Worker& worker = entry.second;
    return &queues_.at(worker.queue) == queue && worker.link == Link::kAttached && !worker.ending && worker.window.empty();
  }));
}

PoolView Machine::view_of(QueueId id, const Queue& queue) const {
  PoolView view{.least = queue.resources.leases_least, .most = queue.resources.leases_most, .workers_each = queue.resources.workers};
  bool no_more = false;
  for (const RequestId request : queue.requests) {
    const RequestRecord& record = requests_.at(request);
    view.held += record.workers > 0;
    view.coming += record.workers == 0 && record.wanted && !record.refused;
    no_more |= record.refused || (record.bound && record.wanted && record.workers == 0);
  }
  // There are no more leases until there is new work, or until the limit has room.
  if (no_more) view.most = view.held + view.coming;
  view.waiting = queue.waiting.size() + (queue.waiting.empty() ? 0 : queue.to_come);
  view.working = queue.running > 0;
  view.start = std::max(queue.start == Duration{} ? settings_.usual_start : queue.start, settings_.least_start);
  view.task = task_time(id, queue, view.start);
  return view;
}

// The usual time of ended tasks. If every running task has run for longer than another lease takes to arrive, the
// others are expected to take as long.
Duration Machine::task_time(QueueId id, const Queue& queue, Duration start) const {
  Duration youngest = Duration::max();
  for (const auto& [place, worker] : workers_)
    if (worker.queue == id && !worker.window.empty()) youngest = std::min<Duration>(youngest, now_ - worker.begun);
  const bool is_long = youngest != Duration::max() && youngest >= start;
  return is_long ? std::max(queue.times.usual(), youngest) : queue.times.usual();
}

// A pool whose further leases are refused goes on with the leases that it has.
bool Machine::others_serve(RequestId refused) const {
  return std::ranges::any_of(queue_of(refused).requests, [&](RequestId id) {
    const RequestRecord& record = requests_.at(id);
    return id != refused && !record.refused && (record.wanted || record.workers > 0);
  });
}

void Machine::count_start(const Worker& worker) {
  Queue& queue = queues_.at(worker.queue);
  RequestRecord& record = requests_.at(worker.request);
  if (!queue.resources.is_pool() || record.wanted_since == TimePoint{}) return;
  queue.start = averaged(queue.start, now_ - std::exchange(record.wanted_since, TimePoint{}));
}

// How many waiting tasks pounced is told of for this request. Each request of a pool has its share, so that the
// shares together are all that waits.
std::uint32_t Machine::waiting_for(const RequestRecord& record) const {
  const Queue& queue = queues_.at(record.queue);
  const auto waiting = static_cast<std::uint32_t>(queue.waiting.size());
  if (!queue.resources.is_pool()) return waiting;
  if (!record.wanted || record.refused) return 0;
  return std::max((waiting + queue.wanted - 1) / queue.wanted, 1u);
}

TimePoint Machine::replan_due() const {
  TimePoint due = TimePoint::max();
  for (const auto& [id, queue] : queues_) due = std::min(due, queue.replan_due);
  return due;
}

}  // namespace pounce::task
