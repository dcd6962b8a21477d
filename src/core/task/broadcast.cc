#include "core/task/broadcast.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace pounce::task {

Broadcast::Decisions Broadcast::wants(const ObjectId& object, const WorkerRef& place, const std::string& machine) {
  Decisions decisions;
  Spread& spread = spreads_[object];
  spread.machines[place] = machine;
  spread.sources.erase(place);
  spread.waiting.push_back({place});
  begin_what_can(object, spread, decisions);
  return decisions;
}

void Broadcast::made(const ObjectId& object, const WorkerRef& place, const std::string& machine) {
  Spread& spread = spreads_[object];
  spread.machines[place] = machine;
  spread.under_way[place] = {place};
}

Broadcast::Decisions Broadcast::has(const ObjectId& object, const WorkerRef& place) {
  return settle(object, place, true);
}

Broadcast::Decisions Broadcast::refused(const ObjectId& object, const WorkerRef& place) {
  return settle(object, place, false);
}

Broadcast::Decisions Broadcast::settle(const ObjectId& object, const WorkerRef& place, bool has_it) {
  Decisions decisions;
  const auto found = spreads_.find(object);
  if (found == spreads_.end() || !found->second.under_way.contains(place)) return decisions;  // it came some other way
  end_fetch(object, found->second, place, decisions);
  decisions.settled.push_back(object);
  if (has_it) found->second.sources.emplace(place, 0);
  begin_what_can(object, found->second, decisions);
  return decisions;
}

Broadcast::Decisions Broadcast::failed(const ObjectId& object, const WorkerRef& place) {
  Decisions decisions;
  const auto found = spreads_.find(object);
  if (found == spreads_.end()) return decisions;
  Spread& spread = found->second;
  const auto fetch = spread.under_way.find(place);
  if (fetch == spread.under_way.end() || !fetch->second.from) return decisions;  // told twice
  spread.sources.erase(*fetch->second.from);
  end_fetch(object, spread, place, decisions);
  spread.waiting.push_front({place, true});
  begin_what_can(object, spread, decisions);
  return decisions;
}

Broadcast::Decisions Broadcast::slow(const WorkerRef& place) {
  Decisions decisions;
  for (auto& [object, spread] : spreads_) {
    spread.sources.erase(place);
    if (const auto fetch = spread.under_way.find(place); fetch != spread.under_way.end()) fetch->second.counts = false;
    begin_what_can(object, spread, decisions);
  }
  return decisions;
}

// Fetches from this worker go on: their readers report it when they fail.
Broadcast::Decisions Broadcast::gone(const WorkerRef& place) {
  Decisions decisions;
  for (auto& [object, spread] : spreads_) {
    spread.sources.erase(place);
    spread.machines.erase(place);
    const auto waited = std::erase_if(spread.waiting, [&](const Waiting& one) { return one.place == place; });
    decisions.settled.insert(decisions.settled.end(), waited + spread.under_way.count(place), object);
    end_fetch(object, spread, place, decisions);
    begin_what_can(object, spread, decisions);
  }
  return decisions;
}

void Broadcast::dropped(const ObjectId& object, const WorkerRef& place) {
  if (const auto found = spreads_.find(object); found != spreads_.end()) found->second.sources.erase(place);
}

void Broadcast::forget(const ObjectId& object) {
  const auto found = spreads_.find(object);
  if (found != spreads_.end() && found->second.waiting.empty() && found->second.under_way.empty())
    spreads_.erase(found);
}

void Broadcast::end_fetch(const ObjectId& object, Spread& spread, const WorkerRef& place, Decisions& decisions) {
  const auto fetch = spread.under_way.extract(place);
  if (fetch && fetch.mapped().from != place) decisions.over.push_back({object, place, fetch.mapped().from});
}

// Serves the waiting workers in order. The source that sent the object least often is the next one; the client comes
// last, since all transfers pass through it.
void Broadcast::begin_what_can(const ObjectId& object, Spread& spread, Decisions& decisions) {
  for (auto one = spread.waiting.begin(); one != spread.waiting.end();) {
    const auto turns = static_cast<std::uint32_t>(std::bit_width(spread.machines.size()));
    auto source = spread.source_for(*one, turns);
    if (!source && spread.under_way.empty())
      source = spread.source_for(*one, std::numeric_limits<std::uint32_t>::max());
    if (!source) {
      ++one;
      continue;
    }
    ++spread.given_by(*source);
    spread.under_way[one->place] = {*source};
    decisions.begin.push_back({object, one->place, *source});
    one = spread.waiting.erase(one);
  }
}

// A worker whose machine has the object, or is getting it, uses no other path.
std::optional<std::optional<WorkerRef>> Broadcast::Spread::source_for(const Waiting& one, std::uint32_t most) const {
  const auto is_beside = [&](const auto& entry) { return beside(one.place, entry.first); };
  if (!one.from_client && std::ranges::any_of(sources, is_beside)) {
    const auto source = least_used([&](const WorkerRef& source, std::uint32_t) { return beside(one.place, source); });
    return source ? std::optional<std::optional<WorkerRef>>(source) : std::nullopt;
  }
  if (!one.from_client &&
      std::ranges::any_of(under_way, [&](const auto& fetch) { return fetch.second.counts && is_beside(fetch); }))
    return std::nullopt;
  const auto is_made_there = [](const auto& fetch) { return fetch.second.counts && fetch.second.from == fetch.first; };
  if (!one.from_client && std::ranges::any_of(under_way, is_made_there)) return std::nullopt;
  const auto best = least_used([&](const WorkerRef&, std::uint32_t gave) { return !one.from_client && gave < most; });
  if (best) return std::optional<std::optional<WorkerRef>>(best);
  if (!busy(std::nullopt) && (one.from_client || by_client < most)) return std::optional<WorkerRef>();
  return std::nullopt;
}

std::optional<WorkerRef> Broadcast::Spread::least_used(
    const std::function<bool(const WorkerRef& source, std::uint32_t gave)>& may) const {
  const std::pair<const WorkerRef, std::uint32_t>* best = nullptr;
  for (const auto& source : sources)
    if (may(source.first, source.second) && !busy(source.first) && (best == nullptr || source.second < best->second))
      best = &source;
  return best == nullptr ? std::nullopt : std::optional(best->first);
}

bool Broadcast::Spread::beside(const WorkerRef& one, const WorkerRef& other) const {
  const auto first = machines.find(one), second = machines.find(other);
  return first != machines.end() && second != machines.end() && !first->second.empty() &&
         first->second == second->second;
}

bool Broadcast::Spread::busy(const std::optional<WorkerRef>& source) const {
  return std::ranges::any_of(under_way,
                             [&](const auto& fetch) { return fetch.second.counts && fetch.second.from == source; });
}

std::uint32_t& Broadcast::Spread::given_by(const std::optional<WorkerRef>& source) {
  return source ? sources.at(*source) : by_client;
}

}  // namespace pounce::task
