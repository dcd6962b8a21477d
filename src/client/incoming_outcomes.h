// The outcomes of one worker's tasks that have come in part. They outlive the connection, so that nothing comes again
// over the next one. Thread: the leader token's holder.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "client/incoming.h"
#include "client/link_event.h"
#include "client/worker_lane.h"
#include "protocol/messages.h"
#include "transport/frame.h"

namespace pounce::client {

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

}  // namespace pounce::client
