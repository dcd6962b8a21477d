// What the daemon is told: per request, how much waits, how much runs, which leases are held. Always whole, so a lost
// or repeated message does no harm; rarely, so that pounced stays off the path of short tasks. Here too: what the
// daemon answers.
#include <algorithm>
#include <utility>

#include "core/task/rules.h"

namespace pounce::task {
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
  if (event.error.context.contains(kFitsApart) && !queue.resources.is_pool() && queue.workers == 0)
    return take_apart(core, record.queue);
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
