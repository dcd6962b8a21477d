// Results that stay here as objects after their clients have them, for calls that take them. What the function
// returned is copied into the store's memory in steps, so that the thread stays responsive. Thread: the leader
// token's holder.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "memory/block_pool.h"
#include "memory/packing.h"
#include "pounce/ids.h"
#include "worker/interpreter/object_store.h"
#include "worker/interpreter/run_job.h"

namespace pounce::worker {

class KeptResults {
 public:
  void keep(const SessionId& session, const ObjectId& object, JobResult result);
  bool empty() const { return waiting_.empty(); }
  void drop_all(const SessionId& session);

  struct News {
    SessionId session;
    ObjectId object;
    std::optional<ObjectOffer> made;  // nullopt: there is no memory for it
  };
  std::optional<News> step(memory::BlockPool& blocks);  // copies for some milliseconds

 private:
  struct Waiting {
    SessionId session;
    ObjectId object;
    JobResult result;
    bool pickle_follows = false;
    std::vector<SharedBytes> parts{};
    std::optional<memory::Packing> packing{};
  };
  static ObjectOffer offer_of(const Waiting& one);

  std::deque<Waiting> waiting_;
};

}  // namespace pounce::worker
