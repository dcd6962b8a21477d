// Carries out the decisions of core/task/broadcast.h: sends a large object over the client's own lane to a worker, or
// over a lane from one worker to another, for which the client makes the keys and tells both. Thread: the leader
// token's holder.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "client/objects.h"
#include "client/worker_link.h"
#include "core/task/broadcast.h"
#include "protocol/messages.h"

namespace pounce::client {

class ObjectRelay {
 public:
  using LinkAt = std::function<WorkerLink*(const task::Place&)>;  // null: it is gone
  using LetGo = std::function<void(const ObjectId&)>;             // releases an object that the relay held

  ObjectRelay(Objects& objects, LinkAt link_at, LetGo let_go)
      : objects_(objects), link_at_(std::move(link_at)), let_go_(std::move(let_go)) {}

  void see_to_wanted(const task::Place& place);  // after something was sent to it
  // Made there: the worker reports `has` when others can fetch it.
  void made(const task::Place& place, const ObjectId& object);
  void has(const task::Place& place, const ObjectId& object);
  void refused(const task::Place& place, const ObjectId& object) { act(broadcast_.refused(object, place)); }
  void not_fetched(const task::Place& place, const ObjectId& object);
  // The source is ready, or does not have the object.
  void answered(const task::Place& source, const protocol::Serve& answer);
  void slow(const task::Place& place) { act(broadcast_.slow(place)); }
  void gone(const task::Place& place);
  void dropped(const task::Place& place, const ObjectId& object) { broadcast_.dropped(object, place); }
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
  const LinkAt link_at_;
  const LetGo let_go_;
  task::Broadcast broadcast_;
  std::map<std::pair<ObjectId, task::Place>, Arranged> arranged_;  // by the reader
};

}  // namespace pounce::client
