// What one worker has of this client's tasks: the functions that they call, their messages, the outcomes on their way
// in and the acknowledgements. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "client/calls.h"
#include "client/incoming.h"
#include "client/objects.h"
#include "client/worker_connection.h"
#include "client/worker_objects.h"
#include "model/ids.h"
#include "pounce/error.h"
#include "protocol/messages.h"
#include "transport/frame.h"

namespace pounce::client {

// What no task needs stays at the worker for a while, up to a budget: calling the function again then sends nothing.
class FunctionsAtWorker {
 public:
  static constexpr std::uint64_t kBudgetBytes = 32ull * 1024 * 1024;

  // `task` needs the function until it has ended. True: the worker does not have it, so it must be sent first.
  bool needs(const FunctionId& id, std::uint64_t bytes, const TaskId& task);
  void ended(const TaskId& task);
  std::uint64_t bytes() const { return bytes_; }

  // The least recently needed functions over the budget that no task needs; they are forgotten here.
  std::vector<FunctionId> drop_over(std::uint64_t budget);
  void clear();  // the connection broke: what was sent may not have arrived

 private:
  struct Held {
    std::uint64_t bytes = 0;
    std::uint32_t tasks = 0;        // that need it
    std::uint64_t unneeded_at = 0;  // its place in unneeded_, while no task does
  };
  std::unordered_map<FunctionId, Held> functions_;
  std::unordered_map<TaskId, FunctionId> tasks_;
  std::map<std::uint64_t, FunctionId> unneeded_;  // in the order in which their last tasks ended
  std::uint64_t ends_ = 0, bytes_ = 0;
};

// The outcomes that have begun to come and are not whole. They outlive the connection: what has come need not come
// again over the next one.
struct OutcomeWhole {
  Result<Incoming> incoming;
  TaskId task;
  std::int64_t received_ns = 0;
};

class IncomingOutcomes {
 public:
  void keep(const TaskId& task) { kept_.insert(task); }  // this task's outcome, when it comes
  void keep_not(const TaskId& task) { kept_.erase(task); }
  // After what an earlier connection brought; false: another outcome, or none.
  bool goes_on(const protocol::Outcome& header);
  // The outcome, once it is whole or cannot come; nullopt: more is to come.
  std::optional<OutcomeWhole> begin(protocol::Outcome header, transport::Message message);
  std::optional<OutcomeWhole> add(const protocol::Chunk& chunk, const transport::Message& message);
  std::optional<OutcomeWhole> came_whole(const TaskId& task);  // over the lane
  void came_as_far_as(const WorkerLane& lane);
  const Incoming& of(const TaskId& task) const { return outcomes_.at(task); }

  std::vector<TaskId> keep_only(const std::vector<TaskId>& tasks);  // returns those that it drops
  std::vector<protocol::Reached> reached() const;

 private:
  std::optional<OutcomeWhole> take(std::map<TaskId, Incoming>::iterator outcome);

  std::map<TaskId, Incoming> outcomes_;
  std::set<TaskId> kept_;
};

class WorkerTasks {
 public:
  WorkerTasks(WorkerConnection& connection, WorkerObjects& objects) : connection_(connection), objects_(objects) {}

  FunctionsAtWorker& functions() { return functions_; }
  void send(const Call& call, std::uint32_t attempt, const Objects& objects);
  void cancel(const protocol::CancelTask& order);  // behind its task, if that waits for data
  void query(std::vector<TaskId> tasks, bool no_others);
  // Whether the outcome is kept as an object when it comes.
  void keep_outcome(const TaskId& task, bool keep) { keep ? incoming_.keep(task) : incoming_.keep_not(task); }

  // The outcome, once it is whole or cannot come; nullopt: more is to come.
  std::optional<OutcomeWhole> take(protocol::Outcome header, transport::Message message);
  std::optional<OutcomeWhole> take(const protocol::Chunk& chunk, const transport::Message& message) {
    return incoming_.add(chunk, message);
  }
  std::optional<OutcomeWhole> came_whole(const TaskId& task) { return incoming_.came_whole(task); }  // over the lane
  bool awaits_outcome() const { return unanswered_ > 0; }
  bool has_several() const { return unanswered_ > 1; }

  // Acknowledges soon, many tasks at once: one message each would wake the worker a second time for each short call.
  void acknowledge(const TaskId& task, TimePoint now);
  void acknowledge_at_once(const TaskId& task);  // the worker keeps the outcome's memory until then
  void acknowledge_kept(const TaskId& task, const ObjectId& id, const Object& object);  // it stays there as this object
  void post_acknowledgements();
  TimePoint acknowledge_at() const { return acknowledge_at_; }

  void lost();  // the connection; its lane still tells how far the outcomes came

 private:
  WorkerConnection& connection_;
  WorkerObjects& objects_;
  FunctionsAtWorker functions_;  // sent on this connection
  IncomingOutcomes incoming_;
  std::uint32_t unanswered_ = 0;  // tasks sent on this connection whose outcomes have not come
  std::vector<TaskId> to_acknowledge_, to_keep_;
  TimePoint acknowledge_at_ = TimePoint::max();
};

}  // namespace pounce::client
