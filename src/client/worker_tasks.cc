#include "client/worker_tasks.h"

#include <algorithm>
#include <utility>

namespace pounce::client {
namespace {

// The worker keeps results until they are acknowledged.
constexpr std::chrono::milliseconds kLongestAcknowledgePause{20};
// Together with the worker's window they must fit into its run page (128), or a crash leaves more in doubt.
constexpr std::size_t kMostToAcknowledge = 64;

std::int64_t received_now() { return Clock::now().time_since_epoch().count(); }

}  // namespace

bool FunctionsAtWorker::needs(const FunctionId& id, std::uint64_t bytes, const TaskId& task) {
  ended(task);  // a task that is sent a second time counts once
  const auto [found, is_new] = functions_.try_emplace(id, Held{bytes});
  if (is_new) bytes_ += bytes;
  if (found->second.tasks++ == 0) unneeded_.erase(found->second.unneeded_at);
  tasks_.emplace(task, id);
  return is_new;
}

void FunctionsAtWorker::ended(const TaskId& task) {
  const auto found = tasks_.find(task);
  if (found == tasks_.end()) return;
  Held& held = functions_.at(found->second);
  if (--held.tasks == 0) {
    held.unneeded_at = ++ends_;
    unneeded_.emplace(held.unneeded_at, found->second);
  }
  tasks_.erase(found);
}

std::vector<FunctionId> FunctionsAtWorker::drop_over(std::uint64_t budget) {
  std::vector<FunctionId> dropped;
  while (bytes_ > budget && !unneeded_.empty()) {
    const FunctionId id = unneeded_.begin()->second;
    unneeded_.erase(unneeded_.begin());
    bytes_ -= functions_.at(id).bytes;
    functions_.erase(id);
    dropped.push_back(id);
  }
  return dropped;
}

void FunctionsAtWorker::clear() { *this = {}; }

// ---- outcomes on their way in -------------------------------------------------------------------------------------

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

// ---- tasks ----------------------------------------------------------------------------------------------------------

void WorkerTasks::send(const Call& call, std::uint32_t attempt, const Objects& objects) {
  Outbox& outbox = connection_.outbox();
  if (functions_.needs(call.function, call.function_pickle.bytes.size(), call.task))
    outbox.post(protocol::Function{call.function, call.command}, {call.function_pickle});
  ObjectsAtWorker& held = objects_.held();
  bool behind_bulk = false;
  std::vector<ObjectId> awaited;
  for (const ObjectId& id : call.objects) {
    held.used(id);
    const Object* object = objects.find(id);
    if (object != nullptr) objects_.send(id, *object);
    // An object for a device is still on its way after all of it has been sent: the task waits until the worker
    // confirms it.
    const bool to_device = object != nullptr && !object->device.empty() && !held.confirmed(id);
    if (connection_.lane().carries(id) || to_device) awaited.push_back(id);
    behind_bulk |= !held.confirmed(id);
  }
  const protocol::Task header{call.task, call.function, call.objects, attempt, call.settings};
  if (!awaited.empty())
    outbox.post_when_there(std::move(awaited), call.task, header, call.payload);
  else
    behind_bulk ? outbox.post_after_bulk(call.task, header, call.payload) : outbox.post(header, call.payload);
  connection_.flush(unanswered_++ == 0 ? Outbox::Pace::kNow : Outbox::Pace::kGather);
}

void WorkerTasks::cancel(const protocol::CancelTask& order) {
  if (!connection_.outbox().post_behind_task(order.task, order)) connection_.send(order);
}

void WorkerTasks::query(std::vector<TaskId> tasks, bool no_others) {
  protocol::Query query{std::move(tasks), no_others, {}};
  for (const TaskId& dropped : incoming_.keep_only(query.tasks)) connection_.lane().stop(dropped);
  query.reached = incoming_.reached();
  connection_.send(query);
}

std::optional<OutcomeWhole> WorkerTasks::take(protocol::Outcome header, transport::Message message) {
  const TaskId task = header.task;
  const bool fetched = header.fetched;
  if (unanswered_ > 0) --unanswered_;
  if (!incoming_.goes_on(header)) {
    connection_.lane().stop(task);
    if (auto whole = incoming_.begin(std::move(header), std::move(message))) return whole;
  }
  if (fetched && !connection_.lane().fetch(task, incoming_.of(task))) connection_.go_without_lane();
  return std::nullopt;
}

void WorkerTasks::acknowledge(const TaskId& task, TimePoint now) {
  to_acknowledge_.push_back(task);
  if (to_acknowledge_.size() >= kMostToAcknowledge) return post_acknowledgements();
  acknowledge_at_ = std::min(acknowledge_at_, now + kLongestAcknowledgePause);
}

void WorkerTasks::post_acknowledgements() {
  acknowledge_at_ = TimePoint::max();
  if (to_acknowledge_.empty()) return;
  connection_.outbox().post(protocol::Ack{std::exchange(to_acknowledge_, {}), std::exchange(to_keep_, {})});
}

void WorkerTasks::acknowledge_at_once(const TaskId& task) {
  to_acknowledge_.push_back(task);
  post_acknowledgements();
  connection_.flush();
}

void WorkerTasks::acknowledge_kept(const TaskId& task, const ObjectId& id, const Object& object) {
  objects_.kept(id, object);
  to_keep_.push_back(task);
  acknowledge_at_once(task);
}

void WorkerTasks::lost() {
  incoming_.came_as_far_as(connection_.lane());
  functions_.clear();
  unanswered_ = 0;
  to_keep_.clear();
  to_acknowledge_.clear();  // the worker sends them again on our query; they are acknowledged then
  acknowledge_at_ = TimePoint::max();
}

}  // namespace pounce::client
