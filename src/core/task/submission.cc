// What the user submits: each task goes into the queue of its resources, which requests serve.
#include <algorithm>
#include <utility>

#include "core/task/rules.h"

namespace pounce::task {
namespace {

// The first call after an end is made in spite of it: it begins a new generation.
void renew_requests(Core& core, Queue& queue) {
  const bool is_new = queue.waiting.empty() && queue.running == 0;
  for (const RequestId id : queue.requests) {
    RequestRecord& record = core.requests.at(id);
    if (std::exchange(record.told_end, false)) ++record.generation;
    if (is_new) record.refused = false;
  }
}

}  // namespace

void on(Core& core, const TaskSubmitted& event) {
  if (core.closed) return core.emit(Fail{event.task, error_of(ErrorCode::kClosed, CauseCode::kSubmittedLate)});
  if (core.tasks.contains(event.task)) return;  // the same submit twice is one task
  const QueueId id = queue_for(core, event.resources);
  Queue& queue = core.queues.at(id);
  renew_requests(core, queue);
  Task& task = core.tasks[event.task];
  task.queue = id;
  task.sequence = core.next_sequence++;
  task.retries_left = event.retries;
  task.only_on = event.worker;
  queue.waiting.emplace(task.sequence, event.task);
  core.demand.changed = true;
  dispatch(core, id);
}

// The task keeps its turn: in the new request, too, it goes before the tasks that were submitted after it.
void on(Core& core, const TaskMoved& event) {
  const auto found = core.tasks.find(event.task);
  if (found == core.tasks.end() || found->second.state != TaskState::kWaiting) return;  // ended, or has a worker
  Task& task = found->second;
  const QueueId queue = queue_for(core, event.resources);
  if (queue == task.queue) return;
  core.queues.at(task.queue).waiting.erase(task.sequence);
  task.queue = queue;
  core.queues.at(queue).waiting.emplace(task.sequence, event.task);
  core.demand.changed = true;
  dispatch(core, queue);
}

void on(Core& core, const MoreToCome& event) {
  Queue& queue = core.queues.at(queue_for(core, event.resources));
  const auto fewer = static_cast<std::uint64_t>(-event.tasks);
  if (event.tasks >= 0)
    queue.to_come += static_cast<std::uint64_t>(event.tasks);
  else
    queue.to_come -= std::min(queue.to_come, fewer);
  core.demand.changed = true;
}

// ---- queues and their requests ------------------------------------------------------------------------------------

QueueId queue_for(Core& core, const Resources& resources) {
  // Most calls are as the last one.
  if (const auto last = core.queues.find(core.last_queue); last != core.queues.end())
    if (last->second.resources == resources) return core.last_queue;
  const QueueId fresh{static_cast<std::uint32_t>(core.queues.size() + 1)};
  const auto [entry, is_new] = resources.is_pool() ? core.pool_ids.try_emplace(resources.of_one_lease(), fresh)
                                                   : core.queue_ids.try_emplace(resources, fresh);
  Queue& queue = core.queues[entry->second];
  // A pool has the size that was submitted last, also where nothing else of its demand changes.
  if (is_new || (resources.is_pool() && queue.resources != resources)) {
    queue.resources = resources;
    core.demand.changed = true;
  }
  if (is_new) add_request(core, entry->second);
  core.last_queue = resources.is_pool() ? QueueId{} : entry->second;
  return entry->second;
}

const Queue* find_queue(const Core& core, const Resources& resources) {
  const auto& ids = resources.is_pool() ? core.pool_ids : core.queue_ids;
  const auto found = resources.is_pool() ? ids.find(resources.of_one_lease()) : ids.find(resources);
  return found == ids.end() ? nullptr : &core.queues.at(found->second);
}

RequestId add_request(Core& core, QueueId queue) {
  const RequestId id{static_cast<std::uint32_t>(core.requests.size() + 1)};
  std::vector<RequestId>& requests = core.queues.at(queue).requests;
  core.requests[id] = RequestRecord{.queue = queue, .wanted = requests.empty(), .wanted_since = core.now};
  requests.push_back(id);
  return id;
}

void take_apart(Core& core, QueueId id) {
  const Resources together = core.queues.at(id).resources;
  const QueueId pool = queue_for(core, together.apart());
  core.queue_ids[together] = pool;
  core.last_queue = {};
  core.queues.at(pool).to_come += std::exchange(core.queues.at(id).to_come, 0);
  const auto waiting = core.queues.at(id).waiting;
  for (const auto& [sequence, task] : waiting) on(core, TaskMoved{task, together});
}

}  // namespace pounce::task
