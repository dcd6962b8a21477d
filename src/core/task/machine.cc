// The task machine's frame: one event in, actions out; what is known; the life of a worker's window; what must hold
// after each event.

#include "core/task/machine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace pounce::task {
namespace {

constexpr std::size_t kUsualActions = 4;  // of an outcome: acknowledged, delivered, and the next task or two

}  // namespace

std::vector<Action> Machine::handle(const Event& event, TimePoint now) {
  now_ = now;
  actions_.clear();
  actions_.reserve(kUsualActions);
  std::visit([this](const auto& happened) { on(happened); }, event);
  if (demand_changed_ || now_ >= replan_due()) plan_pools();
  if (demand_changed_) plan_demand();
  if (now_ >= std::min(demand_due_, repeat_demand_at())) tell_demand();
  return std::exchange(actions_, {});
}

TimePoint Machine::next_deadline() const {
  TimePoint next = std::min({demand_due_, repeat_demand_at(), replan_due()});
  for (const auto& [place, worker] : workers_) {
    next = std::min(next, tell_reach_at(worker));
    if (worker.link != Link::kAttached && !worker.window.empty())
      next = std::min(next, worker.silent_since + settings_.fenced_after);
  }
  return next;
}

std::optional<TaskState> Machine::state(TaskId task) const {
  const auto found = tasks_.find(task);
  return found == tasks_.end() ? std::nullopt : std::optional(found->second.state);
}

std::optional<RequestId> Machine::request_of(TaskId id) const {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return std::nullopt;
  const Task& task = found->second;
  return task.place ? workers_.at(*task.place).request : request_of(queues_.at(task.queue));
}

std::optional<RequestId> Machine::request_of(const Resources& resources) const {
  const Queue* queue = queue_of(resources);
  return queue == nullptr ? std::nullopt : request_of(*queue);
}

std::vector<RequestId> Machine::requests_of(TaskId id) const {
  const auto found = tasks_.find(id);
  return found == tasks_.end() ? std::vector<RequestId>() : queues_.at(found->second.queue).requests;
}

const Machine::Queue* Machine::queue_of(const Resources& resources) const {
  const auto& ids = resources.is_pool() ? pool_ids_ : queue_ids_;
  const auto found = resources.is_pool() ? ids.find(resources.of_one_lease()) : ids.find(resources);
  return found == ids.end() ? nullptr : &queues_.at(found->second);
}

// The request that the queue's tasks wait for first.
std::optional<RequestId> Machine::request_of(const Queue& queue) const {
  const auto wanted = std::ranges::find_if(
      queue.requests, [this](RequestId id) { return requests_.at(id).wanted && requests_.at(id).workers == 0; });
  return wanted == queue.requests.end() ? queue.requests.front() : *wanted;
}

bool Machine::needs_daemon() const { return !closed_ && (!tasks_.empty() || !leases_.empty()); }

QueueId Machine::queue_for(const Resources& resources) {
  const QueueId fresh{static_cast<std::uint32_t>(queues_.size() + 1)};
  const auto [entry, is_new] = resources.is_pool() ? pool_ids_.try_emplace(resources.of_one_lease(), fresh)
                                                   : queue_ids_.try_emplace(resources, fresh);
  Queue& queue = queues_[entry->second];
  // A pool has the size that was submitted last.
  if (is_new || (resources.is_pool() && queue.resources != resources)) queue.resources = resources;
  if (is_new) add_request(entry->second);
  return entry->second;
}

RequestId Machine::add_request(QueueId queue) {
  const RequestId id{static_cast<std::uint32_t>(requests_.size() + 1)};
  std::vector<RequestId>& requests = queues_.at(queue).requests;
  requests_[id] = RequestRecord{.queue = queue, .wanted = requests.empty(), .wanted_since = now_};
  requests.push_back(id);
  return id;
}

// The end carries the reason that held calls back: calls that come afterwards are made in spite of it.
void Machine::told_end(RequestId request) {
  if (const auto known = requests_.find(request); known != requests_.end()) known->second.told_end = true;
}

Machine::Worker* Machine::worker_at(const Place& place, Epoch epoch) {
  const auto found = workers_.find(place);
  return found == workers_.end() || found->second.epoch != epoch ? nullptr : &found->second;
}

// The task, if it is in that interpreter's window. Null: the event is late or not ours.
Machine::Task* Machine::task_at(const Place& place, Epoch epoch, TaskId id) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end() || worker_at(place, epoch) == nullptr) return nullptr;
  return found->second.place == place ? &found->second : nullptr;
}

void Machine::add_worker(const Place& place, Worker worker) {
  ++requests_.at(worker.request).workers;
  ++queues_.at(worker.queue).workers;
  workers_[place] = std::move(worker);
  demand_changed_ = true;
}

void Machine::take_from_window(Task& task, TaskId id) {
  if (!task.place) return;
  Worker& worker = workers_.at(*task.place);
  std::erase(worker.window, id);
  task.place.reset();
  --requests_.at(worker.request).running;
  --queues_.at(task.queue).running;
}

void Machine::wait_again(TaskId id, Task& task) {
  if (task.only_if_started) return fail(id, error_of(ErrorCode::kCancelled, CauseCode::kTaskCancelled));
  take_from_window(task, id);
  task.state = TaskState::kWaiting;
  task.is_queried = false;
  queues_.at(task.queue).waiting.emplace(task.sequence, id);
  demand_changed_ = true;
}

void Machine::end(TaskId id) {
  const auto found = tasks_.find(id);
  POUNCE_CHECK(found != tasks_.end(), "a task ends once");
  take_from_window(found->second, id);
  queues_.at(found->second.queue).waiting.erase(found->second.sequence);
  tasks_.erase(found);
  demand_changed_ = true;
}

void Machine::fail(TaskId id, Error error) {
  end(id);
  emit(Fail{id, std::move(error)});
}

void Machine::fail_waiting(QueueId queue, const Error& error) {
  const auto waiting = queues_.at(queue).waiting;
  for (const auto& [sequence, id] : waiting) fail(id, error);
}

// First come, first served: each task goes to the worker with the most room, and among those to the one that has most
// of its data.
void Machine::dispatch(QueueId id) {
  auto& waiting = queues_.at(id).waiting;
  Place place;
  for (auto next = waiting.begin(); next != waiting.end();) {
    const TaskId task = next->second;
    Worker* worker = freest_worker(id, task, place);
    if (worker == nullptr && !tasks_.at(task).only_on) return;
    if (worker == nullptr) {  // its worker is busy, which delays no other task
      ++next;
      continue;
    }
    next = waiting.erase(next);
    send(place, *worker, task);
  }
}

void Machine::send(const Place& place, Worker& worker, TaskId id) {
  Task& task = tasks_.at(id);
  task.state = TaskState::kSent;
  task.place = place;
  if (worker.window.empty()) worker.begun = now_;
  worker.window.push_back(id);
  ++queues_.at(task.queue).running;
  RequestRecord& record = requests_.at(worker.request);
  record.peak = std::max(record.peak, ++record.running);
  demand_changed_ = true;
  emit(SendTask{place, id, task.attempt});
}

Machine::Worker* Machine::freest_worker(QueueId queue, const TaskId& id, Place& place) {
  const std::optional<WorkerIndex> only_on = tasks_.at(id).only_on;
  Worker* best = nullptr;
  std::uint64_t best_near = 0;
  for (auto& [at, worker] : workers_) {
    if (worker.queue != queue || worker.link != Link::kAttached || worker.window.size() >= room(worker)) continue;
    if (only_on && at.worker != *only_on) continue;
    if (best != nullptr && best->window.size() < worker.window.size()) continue;
    const std::uint64_t near = nearness_ ? nearness_(at, id) : 0;
    if (best != nullptr && best->window.size() == worker.window.size() && near <= best_near) continue;
    best = &worker;
    best_near = near;
    place = at;
  }
  return best;
}

std::size_t Machine::room(const Worker& worker) const {
  if (worker.ending) return 0;
  const Queue& queue = queues_.at(worker.queue);
  return queue.workers < 2 && queue.waiting.size() >= settings_.window ? worker.ahead : 1;
}

// One of its tasks has come back: decides whether the next ones may be sent without waiting for each other.
void Machine::pace(Worker& worker) {
  Queue& queue = queues_.at(worker.queue);
  if (queue.resources.is_pool()) queue.times.add(now_ - worker.begun);
  worker.ahead = now_ - worker.begun <= settings_.short_task ? std::min(2 * worker.ahead, settings_.window) : 1;
  worker.begun = now_;
}

// What must hold after each event (I4 and I5 as far as one client can see them).

void Machine::check_invariants() const {
  std::size_t waiting = 0, sent = 0;
  for (const auto& [id, queue] : queues_) {
    for (const auto& [sequence, waits] : queue.waiting) {
      const auto task = tasks_.find(waits);
      POUNCE_CHECK(task != tasks_.end() && task->second.queue == id, "what waits is a task of this queue");
      POUNCE_CHECK(task->second.state == TaskState::kWaiting && !task->second.place, "what waits is nowhere");
      POUNCE_CHECK(!task->second.cancelling && !task->second.only_if_started, "what waits is cancelled at once");
    }
    std::uint32_t running = 0;
    for (const RequestId request : queue.requests) running += requests_.at(request).running;
    POUNCE_CHECK(running == queue.running, "a queue's running tasks are those of its requests");
    const auto wanted =
        std::ranges::count_if(queue.requests, [this](RequestId request) { return requests_.at(request).wanted; });
    POUNCE_CHECK(static_cast<std::uint32_t>(wanted) == queue.wanted, "a queue's wanted requests are counted");
    POUNCE_CHECK(!queue.resources.is_pool() || demand_changed_ || wanted <= queue.resources.leases_most,
                 "a pool wants no more leases than it may have");
    waiting += queue.waiting.size();
  }
  for (const auto& [request, record] : requests_) {
    std::uint32_t running = 0, workers = 0;
    for (const auto& [place, worker] : workers_) {
      if (worker.request != request) continue;
      running += static_cast<std::uint32_t>(worker.window.size());
      ++workers;
    }
    POUNCE_CHECK(running == record.running, "a request's running tasks are those in its workers' windows");
    POUNCE_CHECK(workers == record.workers, "a request's workers are counted");
    sent += running;
  }
  for (const auto& [place, worker] : workers_) {
    POUNCE_CHECK(leases_.contains(place.lease), "a worker is of a lease that is held");
    POUNCE_CHECK(worker.window.size() <= settings_.window, "a window is never overfull");
    for (const TaskId id : worker.window) {
      const auto task = tasks_.find(id);
      POUNCE_CHECK(task != tasks_.end() && task->second.place == place, "a task is in one window");
      POUNCE_CHECK(task->second.state != TaskState::kWaiting, "what was sent does not wait");
      POUNCE_CHECK(task->second.only_on.value_or(place.worker) == place.worker, "a rank's task is at its worker");
    }
  }
  POUNCE_CHECK(waiting + sent == tasks_.size(), "each task waits or is in a window");
  // Work that could run does: nothing waits beside a free worker.
  for (const auto& [place, worker] : workers_) {
    if (worker.link != Link::kAttached || worker.window.size() >= room(worker)) continue;
    for (const auto& [sequence, id] : queues_.at(worker.queue).waiting) {
      const auto& only_on = tasks_.at(id).only_on;
      POUNCE_CHECK(only_on && *only_on != place.worker, "nothing waits beside a free worker");
    }
  }
}

}  // namespace pounce::task
