// What the daemon is told: per request, how much waits, how much runs, which leases are held. Always whole, so a
// lost or repeated message does no harm; rarely, so that pounced stays off the path of short tasks.
#include <algorithm>

#include "core/task/machine.h"

namespace pounce::task {

std::vector<Request> Machine::demand() const {
  std::vector<Request> requests;
  for (const auto& [id, record] : requests_) {
    // The peak: a stream of short tasks must not look idle at the moments when it is looked at.
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

// Asked after each event: without the demand itself.
bool Machine::demand_is_urgent() const {
  return std::ranges::any_of(requests_, [this](const auto& entry) {
    const auto& [id, record] = entry;
    const auto sent = std::ranges::lower_bound(sent_demand_, id, {}, &Request::id);  // in the order of the requests, as demand() makes it
    const std::uint32_t waiting = waiting_for(record);
    if (sent == sent_demand_.end() || sent->id != id) return waiting > 0 || record.generation > 0;
    const bool more = queues_.at(record.queue).resources.is_pool() ? waiting > 0 && sent->waiting == 0 : waiting > sent->waiting;
    return more || record.generation > sent->generation;
  });
}

}  // namespace pounce::task
