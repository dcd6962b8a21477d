// How many leases a pool wants, which of its queue's requests those are, and what the daemon is told: per request, how
// much waits, how much runs, which leases are held. Always whole, so a lost or repeated message does no harm; rarely,
// so that pounced stays off the path of short tasks. Here too: what the daemon answers.

#include "core/task/pools.h"

#include <cmath>
#include <utility>

#include "core/task/rules.h"

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

// ---- which of a queue's requests are wanted -----------------------------------------------------------------------

// From what is known of its work. Each request is to pounced what any other is, and has one lease at a time.

namespace {

// The usual time of ended tasks. If every running task has run for longer than another lease takes to arrive, the
// others are expected to take as long.
Duration task_time(const Core& core, QueueId id, const Queue& queue, Duration start) {
  Duration youngest = Duration::max();
  for (const auto& [place, worker] : core.workers)
    if (worker.queue == id && !worker.window.empty()) youngest = std::min<Duration>(youngest, core.now - worker.begun);
  const bool is_long = youngest != Duration::max() && youngest >= start;
  return is_long ? std::max(queue.times.usual(), youngest) : queue.times.usual();
}

PoolView view_of(const Core& core, QueueId id, const Queue& queue) {
  PoolView view{.least = queue.resources.leases_least,
                .most = queue.resources.leases_most,
                .workers_each = queue.resources.workers};
  bool no_more = false;
  for (const RequestId request : queue.requests) {
    const RequestRecord& record = core.requests.at(request);
    view.held += record.workers > 0;
    view.coming += record.workers == 0 && record.wanted && !record.refused;
    no_more |= record.refused || (record.bound && record.wanted && record.workers == 0);
  }
  // There are no more leases until there is new work, or until the limit has room.
  if (no_more) view.most = view.held + view.coming;
  view.waiting = queue.waiting.size() + (queue.waiting.empty() ? 0 : queue.to_come);
  view.working = queue.running > 0;
  view.start = std::max(queue.start == Duration{} ? core.settings.usual_start : queue.start, core.settings.least_start);
  view.task = task_time(core, id, queue, view.start);
  return view;
}

// Requests with running tasks come first, then those with workers, then those that are wanted already.
int rank_of(const RequestRecord& record) {
  if (record.running > 0) return 0;
  if (record.workers > 0) return 1;
  return record.wanted ? 2 : 3;
}

void want_leases(Core& core, QueueId id, Queue& queue, std::uint32_t wanted) {
  while (queue.requests.size() < wanted) add_request(core, id);
  queue.wanted = 0;
  std::vector<RequestId> order = queue.requests;
  std::ranges::sort(order, {},
                    [&](RequestId request) { return std::pair(rank_of(core.requests.at(request)), request); });
  for (const RequestId request : order) {
    RequestRecord& record = core.requests.at(request);
    const bool now_wanted = wanted > 0 && !record.refused;
    if (now_wanted) --wanted, ++queue.wanted;
    if (now_wanted && !record.wanted) record.wanted_since = core.now;
    core.demand.changed |= now_wanted != record.wanted;
    record.wanted = now_wanted;
  }
}

void plan_pool(Core& core, QueueId id, Queue& queue) {
  const PoolView view = view_of(core, id, queue);
  const std::uint32_t wanted = leases_wanted(view);
  want_leases(core, id, queue, wanted);
  queue.replan_due = view.waiting > 0 && wanted < view.most ? core.now + core.settings.replan : TimePoint::max();
}

}  // namespace

void plan_pools(Core& core) {
  for (auto& [id, queue] : core.queues)
    if (queue.resources.is_pool()) plan_pool(core, id, queue);
}

TimePoint replan_due(const Core& core) {
  TimePoint due = TimePoint::max();
  for (const auto& [id, queue] : core.queues) due = std::min(due, queue.replan_due);
  return due;
}

bool others_serve(const Core& core, RequestId refused) {
  const Queue& queue = core.queues.at(core.requests.at(refused).queue);
  return std::ranges::any_of(queue.requests, [&](RequestId id) {
    const RequestRecord& record = core.requests.at(id);
    return id != refused && !record.refused && (record.wanted || record.workers > 0);
  });
}

void count_start(Core& core, const Worker& worker) {
  Queue& queue = core.queues.at(worker.queue);
  RequestRecord& record = core.requests.at(worker.request);
  if (!queue.resources.is_pool() || record.wanted_since == TimePoint{}) return;
  queue.start = averaged(queue.start, core.now - std::exchange(record.wanted_since, TimePoint{}));
}

namespace {

// How many waiting tasks pounced is told of for this request. Each request of a pool has its share, so that the
// shares together are all that waits.
std::uint32_t waiting_for(const Core& core, const RequestRecord& record) {
  const Queue& queue = core.queues.at(record.queue);
  const auto waiting = static_cast<std::uint32_t>(queue.waiting.size());
  if (!queue.resources.is_pool()) return waiting;
  if (!record.wanted || record.refused) return 0;
  return std::max((waiting + queue.wanted - 1) / queue.wanted, 1u);
}

// Runs after each event, so it does without building the demand.
bool is_urgent(const Core& core) {
  return std::ranges::any_of(core.requests, [&](const auto& entry) {
    const auto& [id, record] = entry;
    // Sorted by id, as whole_demand() makes it.
    const auto sent = std::ranges::lower_bound(core.demand.sent, id, {}, &Request::id);
    const std::uint32_t waiting = waiting_for(core, record);
    if (sent == core.demand.sent.end() || sent->id != id) return waiting > 0 || record.generation > 0;
    const bool more =
        core.queues.at(record.queue).resources.is_pool() ? waiting > 0 && sent->waiting == 0 : waiting > sent->waiting;
    return more || record.generation > sent->generation;
  });
}

}  // namespace

std::vector<Request> whole_demand(const Core& core) {
  std::vector<Request> requests;
  for (const auto& [id, record] : core.requests) {
    // The peak keeps a stream of short tasks from looking idle at the moments when it is sampled.
    const std::uint32_t running = std::max(record.running, record.peak);
    Request request{
        id, core.queues.at(record.queue).resources, waiting_for(core, record), running, {}, record.generation};
    for (const auto& [lease, held] : core.leases)
      if (held.request == id) request.holds.push_back(lease);
    requests.push_back(std::move(request));
  }
  return requests;
}

void plan_demand(Core& core) {
  Demand& demand = core.demand;
  demand.changed = false;
  const TimePoint due =
      is_urgent(core) ? demand.sent_at + core.settings.demand_pause : core.now + core.settings.demand_delay;
  demand.due = std::min(demand.due, std::max(due, core.now));
}

void tell_demand(Core& core) {
  Demand& demand = core.demand;
  demand.due = TimePoint::max();
  if (!core.session_open || core.closed) return;  // told when it opens
  auto wanted = whole_demand(core);
  if (wanted != demand.sent || core.now >= repeat_demand_at(core)) {
    demand.sent_at = core.now;
    demand.sent = wanted;
    core.emit(SendDemand{std::move(wanted)});
  }
  for (auto& [id, record] : core.requests) record.peak = 0;
  if (whole_demand(core) != demand.sent) demand.due = core.now + core.settings.demand_delay;
}

TimePoint repeat_demand_at(const Core& core) {
  const bool waits = std::ranges::any_of(core.queues, [](const auto& entry) { return !entry.second.waiting.empty(); });
  return waits && core.session_open && !core.closed ? core.demand.sent_at + core.settings.demand_repeat
                                                    : TimePoint::max();
}

// ---- what the daemon answers --------------------------------------------------------------------------------------

void on(Core& core, const SessionOpened&) {
  core.session_open = true;
  core.demand.sent.clear();
  core.demand.due = core.now;  // a daemon that has just started knows nothing
}

void on(Core& core, const DaemonFailed& event) {
  core.session_open = false;
  for (const auto& [id, queue] : core.queues)
    if (queue.workers == 0) fail_waiting(core, id, event.error);  // the others run without the daemon
}

void on(Core& core, const RequestRefused& event) {
  if (!core.requests.contains(event.request)) return;
  note_end(core, event.request);
  core.demand.changed = true;
  RequestRecord& record = core.requests.at(event.request);
  const Queue& queue = core.queues.at(record.queue);
  if (event.error.fits_apart && !queue.resources.is_pool() && queue.workers == 0) return take_apart(core, record.queue);
  if (others_serve(core, event.request)) {
    record.refused = true;
    return;
  }
  fail_waiting(core, record.queue, event.error);
  // Later tasks are requested anew.
  for (const RequestId id : core.queues.at(record.queue).requests) core.requests.at(id).refused = false;
}

void on(Core& core, const RequestBound& event) {
  const auto found = core.requests.find(event.request);
  if (found == core.requests.end() || found->second.bound == event.bound) return;
  found->second.bound = event.bound;
  core.demand.changed = true;
}

void note_end(Core& core, RequestId request) {
  if (const auto known = core.requests.find(request); known != core.requests.end()) known->second.told_end = true;
}

}  // namespace pounce::task
