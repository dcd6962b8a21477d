// The demand that is sent to the daemon: per request, how much waits, how much runs, and which leases are held. It is
// always whole, so that a lost or repeated message does no harm, and rare, so that pounced stays off the path of
// short tasks.
#include <algorithm>

#include "core/task/machine.h"

namespace pounce::task {

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
    const bool more = queues_.at(record.queue).resources.is_pool() ? waiting > 0 && sent->waiting == 0 : waiting > sent->waiting;
    return more || record.generation > sent->generation;
  });
}

}  // namespace pounce::task
