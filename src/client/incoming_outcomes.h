// What a connection to a worker tells its owner, and the outcomes of its tasks that have begun to come and are not
// whole. They outlive the connection: what has come need not come again over the next one. Thread: the leader token's
// holder; events: any.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "client/incoming.h"
#include "client/worker_lane.h"
#include "model/ids.h"
#include "pounce/error.h"
#include "pounce/result.h"
#include "protocol/messages.h"
#include "transport/frame.h"

namespace pounce::client {

struct LinkAttached {
  protocol::Attached who;
};
struct LinkLost {};
struct LinkSilent {};  // it stands, but nothing has come for a while
struct LinkSeen {};    // something came after a LinkSilent
struct LinkRefused {   // for good: versions that do not match
  Error error;
};
struct ObjectRefused {  // only this one, for example for lack of memory
  ObjectId object;
  Error error;
};
struct TaskPrinted {
  TaskId task;
  std::string stream;
  std::string text;
  std::vector<std::string> buffers;  // of a "message"
};
struct OutcomeWhole {
  Result<Incoming> incoming;
  TaskId task;
  std::int64_t received_ns = 0;
};
using LinkEvent = std::variant<LinkAttached, LinkLost, LinkSilent, LinkSeen, LinkRefused, ObjectRefused, TaskPrinted,
                               OutcomeWhole, protocol::Started, protocol::QueryIs, protocol::Leaving, protocol::Have,
                               protocol::Serve, protocol::NotFetched>;

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
