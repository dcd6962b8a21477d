// What became of tasks that ran: outcomes, which may have to be sent again until the client acknowledges them, and
// results that stay here as objects. Thread: the leader token's holder.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/block_pool.h"
#include "model/ids.h"
#include "worker/interpreter/bulk_lanes.h"
#include "worker/interpreter/clients.h"
#include "worker/interpreter/object_store.h"
#include "worker/interpreter/run_job.h"

namespace pounce::worker {

class Outcomes {
 public:
  Outcomes(Clients& clients, BulkLanes& lanes) : clients_(clients), lanes_(lanes) {}

  void keep(const TaskId& task, KeptOutcome outcome) { kept_[task] = std::move(outcome); }
  const JobResult* find(const TaskId& task) const;  // null: it is not here
  // As memory, over the lane, or in chunks. Does nothing while the client is away: it queries the outcome when it
  // comes back.
  void send(const SessionId& session, const TaskId& task);
  void forget(const TaskId& task);

  // A file that is no longer needed once the client has the outcome.
  void remove_when_acknowledged(const TaskId& task, std::string file) { files_[task] = std::move(file); }
  void remove_files(const std::vector<TaskId>& acknowledged) const;

 private:
  Clients& clients_;
  BulkLanes& lanes_;
  std::unordered_map<TaskId, KeptOutcome> kept_;
  std::unordered_map<TaskId, std::string> files_;
};

// Results that stay here as objects when their clients have them, for calls that take them: what the function returned
// is copied into memory of the store's, some at a time so that the copying thread stays responsive.
class KeptResults {
 public:
  void keep(const SessionId& session, const ObjectId& object, JobResult result);
  bool empty() const { return waiting_.empty(); }
  void drop_all(const SessionId& session);

  struct Event {
    SessionId session;
    ObjectId object;
    std::optional<ObjectOffer> made;  // nullopt: there is no memory for it
  };
  std::optional<Event> step(memory::BlockPool& blocks);  // copies for some milliseconds

 private:
  struct Waiting {
    SessionId session;
    ObjectId object;
    JobResult result;
    bool pickle_follows = false;
    std::vector<Bytes> parts{};
    std::optional<memory::Packing> packing{};
  };
  static ObjectOffer offer_of(const Waiting& one);

  std::deque<Waiting> waiting_;
};

}  // namespace pounce::worker
