// The task machine's frame: one event in, actions out; what is known of tasks and workers; what must hold after each
// event.
#include "core/task/machine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/task/rules.h"

namespace pounce::task {

Machine::Machine(Settings settings, Nearness nearness) : core_(std::make_unique<Core>(settings, std::move(nearness))) {}
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;
Machine::~Machine() = default;

// ---- one event ----------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t kUsualActions = 4;  // of an outcome: acknowledged, delivered, and the next task or two

void on(Core& core, const TimePassed&) {
  tell_reach(core);
  fence(core);
}

}  // namespace

std::vector<Action> Machine::handle(const Event& event, TimePoint now) {
  Core& core = *core_;
  core.now = now;
  core.actions.clear();
  core.actions.reserve(kUsualActions);
  std::visit([&core](const auto& happened) { on(core, happened); }, event);
  if (core.demand.changed || now >= replan_due(core)) plan_pools(core);
  if (core.demand.changed) plan_demand(core);
  if (now >= std::min(core.demand.due, repeat_demand_at(core))) tell_demand(core);
  return std::exchange(core.actions, {});
}

TimePoint Machine::next_deadline() const {
  const Core& core = *core_;
  TimePoint next = std::min({core.demand.due, repeat_demand_at(core), replan_due(core)});
  for (const auto& [place, worker] : core.workers)
    next = std::min({next, tell_reach_at(core, worker), fenced_at(core, worker)});
  return next;
}

// ---- what is known ------------------------------------------------------------------------------------------------

namespace {

// The request that the queue's tasks wait for first.
RequestId first_request(const Core& core, const Queue& queue) {
  const auto wanted = std::ranges::find_if(
      queue.requests, [&](RequestId id) { return core.requests.at(id).wanted && core.requests.at(id).workers == 0; });
  return wanted == queue.requests.end() ? queue.requests.front() : *wanted;
}

}  // namespace

std::optional<TaskState> Machine::state(TaskId task) const {
  const auto found = core_->tasks.find(task);
  return found == core_->tasks.end() ? std::nullopt : std::optional(found->second.state);
}

std::optional<RequestId> Machine::request_of(TaskId id) const {
  const auto found = core_->tasks.find(id);
  if (found == core_->tasks.end()) return std::nullopt;
  const Task& task = found->second;
  return task.place ? core_->workers.at(*task.place).request : first_request(*core_, core_->queues.at(task.queue));
}

std::optional<RequestId> Machine::request_of(const Resources& resources) const {
  const Queue* queue = find_queue(*core_, resources);
  return queue == nullptr ? std::nullopt : std::optional(first_request(*core_, *queue));
}

std::vector<RequestId> Machine::requests_of(TaskId id) const {
  const auto found = core_->tasks.find(id);
  return found == core_->tasks.end() ? std::vector<RequestId>() : core_->queues.at(found->second.queue).requests;
}

std::uint32_t Machine::workers_for(const Resources& resources) const {
  const Queue* queue = find_queue(*core_, resources);
  if (queue == nullptr) return 0;
  std::uint32_t count = 0;
  for (const RequestId id : queue->requests) {
    const RequestRecord& record = core_->requests.at(id);
    if (record.wanted || record.workers > 0) count += std::max(record.workers, queue->resources.workers);
  }
  return count;
}

std::uint32_t Machine::free_workers(const Resources& resources) const {
  const Queue* queue = find_queue(*core_, resources);
  return static_cast<std::uint32_t>(std::ranges::count_if(core_->workers, [&](const auto& entry) {
    const Worker& worker = entry.second;
    return &core_->queues.at(worker.queue) == queue && worker.link == Link::kAttached && !worker.ending &&
           worker.window.empty();
  }));
}

bool Machine::needs_daemon() const { return !core_->closed && (!core_->tasks.empty() || !core_->leases.empty()); }
std::uint64_t Machine::late_results() const { return core_->late_results; }
std::vector<Request> Machine::demand() const { return whole_demand(*core_); }

// ---- what must hold after each event (I4 and I5 as far as one client can see them) --------------------------------

namespace {

void check_queue(const Core& core, QueueId id, const Queue& queue) {
  for (const auto& [sequence, waits] : queue.waiting) {
    const auto task = core.tasks.find(waits);
    POUNCE_CHECK(task != core.tasks.end() && task->second.queue == id, "what waits is a task of this queue");
    POUNCE_CHECK(task->second.state == TaskState::kWaiting && !task->second.place, "what waits is nowhere");
    POUNCE_CHECK(!task->second.cancelling && !task->second.only_if_started, "what waits is cancelled at once");
  }
  std::uint32_t running = 0;
  for (const RequestId request : queue.requests) running += core.requests.at(request).running;
  POUNCE_CHECK(running == queue.running, "a queue's running tasks are those of its requests");
  const auto wanted =
      std::ranges::count_if(queue.requests, [&](RequestId request) { return core.requests.at(request).wanted; });
  POUNCE_CHECK(static_cast<std::uint32_t>(wanted) == queue.wanted, "a queue's wanted requests are counted");
  const bool in_bounds = !queue.resources.is_pool() || core.demand.changed || wanted <= queue.resources.leases_most;
  POUNCE_CHECK(in_bounds, "a pool wants no more leases than it may have");
}

void check_request(const Core& core, RequestId request, const RequestRecord& record) {
  std::uint32_t running = 0, workers = 0;
  for (const auto& [place, worker] : core.workers) {
    if (worker.request != request) continue;
    running += static_cast<std::uint32_t>(worker.window.size());
    ++workers;
  }
  POUNCE_CHECK(running == record.running, "a request's running tasks are those in its workers' windows");
  POUNCE_CHECK(workers == record.workers, "a request's workers are counted");
}

void check_worker(const Core& core, const WorkerRef& place, const Worker& worker) {
  POUNCE_CHECK(core.leases.contains(place.lease), "a worker is of a lease that is held");
  POUNCE_CHECK(worker.window.size() <= core.settings.window, "a window is never overfull");
  for (const TaskId id : worker.window) {
    const auto task = core.tasks.find(id);
    POUNCE_CHECK(task != core.tasks.end() && task->second.place == place, "a task is in one window");
    POUNCE_CHECK(task->second.state != TaskState::kWaiting, "what was sent does not wait");
    POUNCE_CHECK(task->second.only_on.value_or(place.worker) == place.worker, "a rank's task is at its worker");
  }
}

// Work that could run does.
void check_nothing_waits_for(const Core& core, const WorkerRef& place, const Worker& worker) {
  if (worker.link != Link::kAttached || worker.window.size() >= room(core, worker)) return;
  for (const auto& [sequence, id] : core.queues.at(worker.queue).waiting) {
    const auto& only_on = core.tasks.at(id).only_on;
    POUNCE_CHECK(only_on && *only_on != place.worker, "nothing waits beside a free worker");
  }
}

}  // namespace

void Machine::check_invariants() const {
  const Core& core = *core_;
  std::size_t waiting = 0, sent = 0;
  for (const auto& [id, queue] : core.queues) {
    check_queue(core, id, queue);
    waiting += queue.waiting.size();
  }
  for (const auto& [request, record] : core.requests) {
    check_request(core, request, record);
    sent += record.running;
  }
  for (const auto& [place, worker] : core.workers) check_worker(core, place, worker);
  POUNCE_CHECK(waiting + sent == core.tasks.size(), "each task waits or is in a window");
  for (const auto& [place, worker] : core.workers) check_nothing_waits_for(core, place, worker);
}

}  // namespace pounce::task
