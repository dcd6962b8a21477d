#include "client/incoming_outcomes.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace pounce::client {
namespace {

std::int64_t received_now() { return Clock::now().time_since_epoch().count(); }

}  // namespace

bool IncomingOutcomes::goes_on(const protocol::Outcome& header) {
  const auto begun = outcomes_.find(header.task);
  return begun != outcomes_.end() && begun->second.goes_on(header);
}

std::optional<OutcomeWhole> IncomingOutcomes::begin(protocol::Outcome header, transport::Message message) {
  const TaskId task = header.task;
  auto incoming = Incoming::begin(std::move(header), std::move(message), kept_.contains(task));
  if (!incoming || incoming->whole()) {
    outcomes_.erase(task);
    return OutcomeWhole{std::move(incoming), task, received_now()};
  }
  outcomes_.insert_or_assign(task, std::move(*incoming));
  return std::nullopt;
}

std::optional<OutcomeWhole> IncomingOutcomes::add(const protocol::Chunk& chunk, const transport::Message& message) {
  const auto task = TaskId::from_hex(chunk.of);
  const auto found = task ? outcomes_.find(*task) : outcomes_.end();
  if (found == outcomes_.end() || message.size() != 2) return std::nullopt;
  found->second.add(chunk, message[1].bytes());
  return found->second.whole() ? take(found) : std::nullopt;
}

std::optional<OutcomeWhole> IncomingOutcomes::came_whole(const TaskId& task) {
  const auto found = outcomes_.find(task);
  if (found == outcomes_.end()) return std::nullopt;
  found->second.came_whole();
  return take(found);
}

std::optional<OutcomeWhole> IncomingOutcomes::take(std::map<TaskId, Incoming>::iterator outcome) {
  OutcomeWhole whole{std::move(outcome->second), outcome->first, received_now()};
  outcomes_.erase(outcome);
  return whole;
}

void IncomingOutcomes::came_as_far_as(const WorkerLane& lane) {
  for (auto& [task, incoming] : outcomes_)
    if (const auto position = lane.reached(task)) incoming.came_to(*position);
}

std::vector<TaskId> IncomingOutcomes::keep_only(const std::vector<TaskId>& tasks) {
  std::vector<TaskId> dropped;
  std::erase_if(outcomes_, [&](const auto& entry) {
    if (std::ranges::find(tasks, entry.first) != tasks.end()) return false;
    dropped.push_back(entry.first);
    return true;
  });
  return dropped;
}

std::vector<protocol::Reached> IncomingOutcomes::reached() const {
  std::vector<protocol::Reached> all;
  for (const auto& [task, incoming] : outcomes_) all.push_back(incoming.reached());
  return all;
}

}  // namespace pounce::client
