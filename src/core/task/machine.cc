// The task machine's frame: one event in, actions out; what is known; the life of a worker's window.
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
  if (demand_changed_) plan_demand();
  if (now_ >= std::min(demand_due_, repeat_demand_at())) tell_demand();
  return std::exchange(actions_, {});
}

TimePoint Machine::next_deadline() const {
  TimePoint next = std::min(demand_due_, repeat_demand_at());
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

std::optional<RequestId> Machine::request_of(TaskId task) const {
  const auto found = tasks_.find(task);
  return found == tasks_.end() ? std::nullopt : std::optional(found->second.request);
}

std::optional<RequestId> Machine::request_of(const Resources& resources) const {
  const auto found = request_ids_.find(resources);
  return found == request_ids_.end() ? std::nullopt : std::optional(found->second);
}

bool Machine::needs_daemon() const { return !closed_ && (!tasks_.empty() || !leases_.empty()); }

RequestId Machine::request_for(const Resources& resources) {
  const auto [entry, is_new] = request_ids_.try_emplace(resources, RequestId{static_cast<std::uint32_t>(request_ids_.size() + 1)});
  if (is_new) requests_[entry->second].resources = resources;
  return entry->second;
}

// Whatever held its calls back is told with the end: calls that come afterwards are made in spite of it.
void Machine::told_end(RequestId request) {
  if (const auto known = requests_.find(request); known != requests_.end()) known->second.told_end = true;
}

Machine::Worker* Machine::worker_at(const Place& place, Epoch epoch) {
  const auto found = workers_.find(place);
  return found == workers_.end() || found->second.epoch != epoch ? nullptr : &found->second;
}

// The task, if it is in that interpreter's window; else the news is late or not ours.
Machine::Task* Machine::task_at(const Place& place, Epoch epoch, TaskId id) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end() || worker_at(place, epoch) == nullptr) return nullptr;
  return found->second.place == place ? &found->second : nullptr;
}

void Machine::take_from_window(Task& task, TaskId id) {
  if (!task.place) return;
  if (const auto worker = workers_.find(*task.place); worker != workers_.end())
    std::erase(worker->second.window, id);
  task.place.reset();
  --requests_[task.request].running;
}

void Machine::wait_again(TaskId id, Task& task) {
  if (task.only_if_started) return fail(id, error_of(ErrorCode::kCancelled, CauseCode::kTaskCancelled));
  take_from_window(task, id);
  task.state = TaskState::kWaiting;
  task.asked = false;
  requests_[task.request].waiting.emplace(task.sequence, id);
  demand_changed_ = true;
}

void Machine::end(TaskId id) {
  const auto found = tasks_.find(id);
  POUNCE_CHECK(found != tasks_.end(), "a task ends once");
  take_from_window(found->second, id);
  requests_[found->second.request].waiting.erase(found->second.sequence);
  tasks_.erase(found);
  demand_changed_ = true;
}

void Machine::fail(TaskId id, Error error) {
  end(id);
  emit(Fail{id, std::move(error)});
}

void Machine::fail_waiting(RequestId request, const Error& error) {
  const auto waiting = requests_[request].waiting;
  for (const auto& [sequence, id] : waiting) fail(id, error);
}

// First come, first served, each to the worker with the most room, and among those to the one that has most of its data.
void Machine::dispatch(RequestId request) {
  auto& waiting = requests_[request].waiting;
  Place place;
  while (!waiting.empty()) {
    const TaskId id = waiting.begin()->second;
    Worker* worker = freest_worker(request, id, place);
    if (worker == nullptr) return;
    waiting.erase(waiting.begin());
    Task& task = tasks_.at(id);
    task.state = TaskState::kSent;
    task.place = place;
    if (worker->window.empty()) worker->begun = now_;
    worker->window.push_back(id);
    auto& record = requests_[request];
    record.peak = std::max(record.peak, ++record.running);
    demand_changed_ = true;
    emit(SendTask{place, id, task.attempt});
  }
}

Machine::Worker* Machine::freest_worker(RequestId request, const TaskId& task, Place& place) {
  Worker* best = nullptr;
  std::uint64_t best_near = 0;
  for (auto& [at, worker] : workers_) {
    if (worker.request != request || worker.link != Link::kAttached || worker.window.size() >= room(worker)) continue;
    if (best != nullptr && best->window.size() < worker.window.size()) continue;
    const std::uint64_t near = nearness_ ? nearness_(at, task) : 0;
    if (best != nullptr && best->window.size() == worker.window.size() && near <= best_near) continue;
    best = &worker;
    best_near = near;
    place = at;
  }
  return best;
}

std::size_t Machine::room(const Worker& worker) const {
  const RequestRecord& record = requests_.at(worker.request);
  if (worker.ending) return 0;
  const bool alone =
      std::ranges::count_if(workers_, [&](const auto& entry) { return entry.second.request == worker.request; }) < 2;
  return alone && record.waiting.size() >= settings_.window ? worker.ahead : 1;
}

// One of its tasks has come back: whether the next ones may follow without waiting for each other.
void Machine::pace(Worker& worker) const {
  worker.ahead = now_ - worker.begun <= settings_.short_task ? std::min(2 * worker.ahead, settings_.window) : 1;
  worker.begun = now_;
}

}  // namespace pounce::task
