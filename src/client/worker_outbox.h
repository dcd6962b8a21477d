// What waits to be sent to one worker. Two lanes: small messages, first come first served, and behind them objects on
// their way with the tasks that need them, so that a gigabyte on its way never delays a cancel or a beat. Thread: the
// leader token's holder.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "client/objects.h"
#include "data/buffers.h"
#include "protocol/messages.h"
#include "transport/channel.h"

namespace pounce::client {

// The message that announces an object to a worker, and the parts that follow it.
struct Announcement {
  Announcement(const ObjectId& id, const Object& object);

  protocol::Object header;
  std::vector<Bytes> payload;  // its pickle, if that is small
  std::vector<Bytes> parts;
};

// An object goes over a channel that passes memory as one block, which it is copied into first unless it lies in one
// already; else it is announced and sent in chunks.
class ObjectTransfer {
 public:
  // reached: what an earlier connection brought there already.
  ObjectTransfer(const ObjectId& id, const Object& object, const protocol::Reached* reached = nullptr);
  // True: all of it is sent. False: the channel takes no more, or enough was copied for now.
  bool send(transport::Channel& channel);
  // It goes as a separate copy, which the other end gives back.
  bool copies(const transport::Channel& channel) const { return goes_as_memory(channel) && !in_place(); }
  bool copied() const { return copy_->has_value(); }
  const ObjectId& id() const { return header_.object; }
  std::uint64_t bytes() const { return data::total(chunks_.buffers()); }

 private:
  ObjectTransfer(Announcement announced, const Object& object, const protocol::Reached* reached);
  bool goes_as_memory(const transport::Channel& channel) const;
  bool in_place() const;  // it lies in memory that can be handed over
  bool send_memory(transport::Channel& channel);
  bool send_in_place(transport::Channel& channel);
  bool send_packed(transport::Channel& channel);
  bool send_block(transport::Channel& channel, std::vector<std::uint64_t> places,
                  std::shared_ptr<memory::MemoryBlock> block);
  bool send_chunks(transport::Channel& channel);

  protocol::Object header_;
  std::vector<Bytes> payload_;
  data::ChunkSender chunks_;
  std::shared_ptr<memory::View> sharable_;                // the memory that all of it lies in, if it does
  std::shared_ptr<std::optional<memory::Packing>> copy_;  // shared with the object's other transfers
  bool no_memory_ = false, announced_ = false;
};

class Outbox {
 public:
  void post(const protocol::Header& header, const std::vector<Bytes>& payload = {});
  // Behind everything in the bulk lane.
  void post_after_bulk(const TaskId& task, const protocol::Header& header, const std::vector<Bytes>& payload = {});
  // Sends it when these objects have arrived; until then it delays no other message.
  void post_when_there(std::vector<ObjectId> objects, const TaskId& task, const protocol::Header& header,
                       const std::vector<Bytes>& payload = {});
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
