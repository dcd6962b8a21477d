// What waits to be sent to one worker. Two lanes: small messages, first come first served, and behind them objects on
// their way with the tasks that need them, so that a gigabyte on its way never delays a cancel or a beat.
// Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <variant>
#include <vector>

#include "client/memory.h"
#include "client/object_transfer.h"
#include "protocol/messages.h"
#include "transport/channel.h"

namespace pounce::client {

class Outbox {
 public:
  void post(const protocol::Header& header, const std::vector<Buffer>& payload = {});
  // Behind everything in the bulk lane.
  void post_after_bulk(const TaskId& task, const protocol::Header& header, const std::vector<Buffer>& payload = {});
  // Sends it when these objects have arrived; until then it delays no other message.
  void post_when_there(std::vector<ObjectId> objects, const TaskId& task, const protocol::Header& header, const std::vector<Buffer>& payload = {});
  // Puts it directly behind this task's message, if that waits here for data. False: it does not.
  bool post_behind_task(const TaskId& task, const protocol::Header& header);
  void post_first(const protocol::Header& header);
  void arrived(const ObjectId& object);  // the worker has it
  void refused(const ObjectId& object);  // the worker refuses it: no more of it is sent
  void post_object(const ObjectId& id, const Object& object, const protocol::Reached* reached = nullptr);
  void clear();
  void pack() { packs_ = true; }  // until it is cleared: the other end reads several messages in one

  // Sends until the channel takes no more, or some milliseconds went into it. kGather: small messages may stay with
  // the channel or with us until there are more, or the next flush; true: some do.
  enum class Pace : std::uint8_t { kNow, kGather };
  bool flush(transport::Channel& channel, Pace pace = Pace::kNow);
  bool empty() const { return small_.empty() && bulk_.empty(); }
  // Something would be sent if the channel took it. Else it waits for the worker, which has too many copies that it
  // has not taken.
  bool can_go() const { return !small_.empty() || (!bulk_.empty() && !held_back_); }

 private:
  struct TaskMessages {  // the task, and later messages about it
    TaskId task;
    std::vector<transport::Message> messages;
  };
  using Bulk = std::variant<TaskMessages, ObjectTransfer>;
  void send_all(transport::Channel& channel);
  bool send_small(transport::Channel& channel);

  struct Waiting {
    std::vector<ObjectId> objects;
    TaskMessages task;
  };
  void post_behind_bulk(TaskMessages task);
  bool send_object(ObjectTransfer& object, transport::Channel& channel);
  static bool send_task(TaskMessages& task, transport::Channel& channel);

  std::deque<transport::Message> small_;
  std::deque<Bulk> bulk_;
  std::vector<Waiting> waiting_;
  std::map<ObjectId, std::uint64_t> copies_;  // bytes of those that the worker has not taken yet
  std::uint64_t copied_bytes_ = 0;
  bool held_back_ = false;
  int gathered_ = 0;  // messages since the channel was flushed
  bool packs_ = false;
};

}  // namespace pounce::client
