// What is asked of the daemon: how many leases a pool wants, which of a queue's requests are wanted, and the demand
// that the daemon is told.

#include "core/task/pools.h"

#include <algorithm>
#include <cmath>

#include "core/task/machine.h"

namespace pounce::task {
namespace {

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

std::uint64_t whole(double count) { return count < 1 ? 0 : static_cast<std::uint64_t>(std::min(count, 1e6)); }

// The work that is left when the next lease arrives, counted in leases that work on it for as long as their start
// took. The leases that are there, and those that come earlier, work on it meanwhile.
std::uint64_t worth(const PoolView& pool) {
  const double start = seconds(pool.start) * pool.workers_each;
  return whole(seconds(pool.task) * static_cast<double>(pool.waiting) / start - pool.held - pool.coming);
}

// So many that each finds at least one task.
std::uint64_t useful(const PoolView& pool) { return (pool.waiting + pool.workers_each - 1) / pool.workers_each; }

// The same for the tasks that the present workers leave.
std::uint64_t useful_when_they_come(const PoolView& pool) {
  if (pool.task == Duration{}) return useful(pool);
  const double taken = std::floor(seconds(pool.start) / seconds(pool.task) * pool.held);
  return whole(static_cast<double>(useful(pool)) - taken);
}

}  // namespace

std::uint32_t leases_wanted(const PoolView& pool) {
  const std::uint32_t least = std::min(pool.least, pool.most);
  if (pool.waiting == 0) return pool.working ? least : 0;
  // A lease that would find no task does not count.
  const std::uint64_t coming = std::min<std::uint64_t>(pool.coming, useful(pool));
  const std::uint64_t more = std::min(pool.coming + worth(pool), useful_when_they_come(pool));
  const std::uint64_t wanted = pool.held + std::max(coming, more);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, std::max(least, 1u), std::max(pool.most, 1u)));
}

// Which of a queue's requests are wanted, from what is known of its work. Each request is to pounced what any other
// is, and has one lease at a time.

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
  std::ranges::sort(order, {},
                    [this](RequestId request) { return std::pair(rank_of(requests_.at(request)), request); });
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
    return &queues_.at(worker.queue) == queue && worker.link == Link::kAttached && !worker.ending &&
           worker.window.empty();
  }));
}

PoolView Machine::view_of(QueueId id, const Queue& queue) const {
  PoolView view{.least = queue.resources.leases_least,
                .most = queue.resources.leases_most,
                .workers_each = queue.resources.workers};
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

// What the daemon is told: per request, how much waits, how much runs, which leases are held. Always whole, so a lost
// or repeated message does no harm; rarely, so that pounced stays off the path of short tasks.

std::vector<Request> Machine::demand() const {
  std::vector<Request> requests;
  for (const auto& [id, record] : requests_) {
    // The peak keeps a stream of short tasks from looking idle at the moments when it is sampled.
    const std::uint32_t running = std::max(record.running, record.peak);
    Request request{id, queues_.at(record.queue).resources, waiting_for(record), running, {}, record.generation};
    for (const auto& [lease, held] : leases_)
      if (held.request == id) request.holds.push_back(lease);
    requests.push_back(std::move(request));
  }
  return requests;
}

void Machine::plan_demand() {
  demand_changed_ = false;
  const TimePoint due = demand_is_urgent() ? sent_demand_at_ + settings_.demand_pause : now_ + settings_.demand_delay;
  demand_due_ = std::min(demand_due_, std::max(due, now_));
}

void Machine::tell_demand() {
  demand_due_ = TimePoint::max();
  if (!session_open_ || closed_) return;  // told when it opens
  auto wanted = demand();
  if (wanted != sent_demand_ || now_ >= repeat_demand_at()) {
    sent_demand_at_ = now_;
    sent_demand_ = wanted;
    emit(SendDemand{std::move(wanted)});
  }
  for (auto& [id, record] : requests_) record.peak = 0;
  if (demand() != sent_demand_) demand_due_ = now_ + settings_.demand_delay;
}

TimePoint Machine::repeat_demand_at() const {
  const bool waits = std::ranges::any_of(queues_, [](const auto& entry) { return !entry.second.waiting.empty(); });
  return waits && session_open_ && !closed_ ? sent_demand_at_ + settings_.demand_repeat : TimePoint::max();
}

// Runs after each event, so it does without building the demand.
bool Machine::demand_is_urgent() const {
  return std::ranges::any_of(requests_, [this](const auto& entry) {
    const auto& [id, record] = entry;
    // Sorted by id, as demand() makes it.
    const auto sent = std::ranges::lower_bound(sent_demand_, id, {}, &Request::id);
    const std::uint32_t waiting = waiting_for(record);
    if (sent == sent_demand_.end() || sent->id != id) return waiting > 0 || record.generation > 0;
    const bool more =
        queues_.at(record.queue).resources.is_pool() ? waiting > 0 && sent->waiting == 0 : waiting > sent->waiting;
    return more || record.generation > sent->generation;
  });
}

}  // namespace pounce::task
