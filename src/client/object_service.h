// The objects that this client holds, on their way to its workers and back out of them. PeerTransfers decides nothing:
// it carries out core/task/broadcast.h, which says who sends a large object to whom. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/objects.h"
#include "client/workers.h"
#include "core/task/broadcast.h"
#include "memory/memory_block.h"
#include "model/ids.h"
#include "protocol/messages.h"

namespace pounce::client {

// Sends a large object over the client's own lane to a worker, or over a lane from one worker to another, for which the
// client makes the keys and tells both.
class PeerTransfers {
 public:
  using LetGo = std::function<void(const ObjectId&)>;  // releases an object that this held

  PeerTransfers(Objects& objects, const Workers& workers, LetGo let_go)
      : objects_(objects), workers_(workers), let_go_(std::move(let_go)) {}

  void see_to_wanted(const task::WorkerRef& place);  // after something was sent to it
  // Made there: the worker reports `has` when others can fetch it.
  void made(const task::WorkerRef& place, const ObjectId& object);
  void has(const task::WorkerRef& place, const ObjectId& object);
  void refused(const task::WorkerRef& place, const ObjectId& object) { act(broadcast_.refused(object, place)); }
  void not_fetched(const task::WorkerRef& place, const ObjectId& object);
  // The source is ready, or does not have the object.
  void answered(const task::WorkerRef& source, const protocol::Serve& answer);
  void slow(const task::WorkerRef& place) { act(broadcast_.slow(place)); }
  void gone(const task::WorkerRef& place);
  void dropped(const task::WorkerRef& place, const ObjectId& object) { broadcast_.dropped(object, place); }
  void forget(const ObjectId& object) { broadcast_.forget(object); }  // it is not needed any more

 private:
  struct Arranged {  // the source was told, the reader not yet
    task::Broadcast::Fetch fetch;
    std::string keys;
  };

  void act(const task::Broadcast::Decisions& decisions);
  bool lies_on_device(const ObjectId& object) const;
  void begin(const task::Broadcast::Fetch& fetch);
  void arrange(const task::Broadcast::Fetch& fetch);
  void end(const task::Broadcast::Fetch& fetch);

  Objects& objects_;
  const Workers& workers_;
  const LetGo let_go_;
  task::Broadcast broadcast_;
  std::map<std::pair<ObjectId, task::WorkerRef>, Arranged> arranged_;  // by the reader
};

// A result that stays here as an object with its task's name.
struct KeptResult {
  ObjectId id;
  HolderNumber holder = 0;
  std::uint64_t bytes = 0;
};

class ObjectService {
 public:
  explicit ObjectService(const Workers& workers) : workers_(workers) {}
  ObjectService(const ObjectService&) = delete;
  ObjectService& operator=(const ObjectService&) = delete;

  const Objects& objects() const { return objects_; }
  PeerTransfers& peer_transfers() { return peer_transfers_; }

  // The user's, under a number of its own. send_now: before a task needs it.
  HolderNumber hold(const ObjectId& id, Object object, bool send_now);
  void release(const ObjectId& id, HolderNumber holder);
  // A task's.
  void hold(const ObjectId& id) { objects_.hold(id); }
  void let_go(const ObjectId& id);

  // Keeps an outcome that is kept(), before the user has any of it and may change it.
  ObjectId keep_result(const TaskId& task, const Incoming& outcome);
  std::optional<KeptResult> take_kept(const TaskId& task);  // from here on the caller holds it
  void drop_kept(const TaskId& task);

  // Tells the worker to drop what no task needs and what is over the budget.
  void drop_unneeded(const task::WorkerRef& place, WorkerLink& link);

 private:
  void send_ahead(const ObjectId& id);
  void forget_unheld(const ObjectId& id);

  const Workers& workers_;
  Objects objects_;
  PeerTransfers peer_transfers_{objects_, workers_, [this](const ObjectId& id) { let_go(id); }};
  std::unordered_map<TaskId, KeptResult> kept_results_;  // until they are taken
  std::vector<std::weak_ptr<memory::View>> shared_;      // of results
};

}  // namespace pounce::client
