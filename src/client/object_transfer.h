// One object on its way to a worker. A channel that passes memory takes it as one block, into which it is copied
// first unless it lies in one already. Any other channel takes it announced and in chunks. Thread: the leader token's
// holder.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "client/objects.h"
#include "protocol/messages.h"
#include "transport/channel.h"

namespace pounce::client {

transport::Message to_message(const protocol::Header& header, const std::vector<Buffer>& payload);

// The message that announces an object to a worker, and the parts that follow it.
struct Announcement {
  Announcement(const ObjectId& id, const Object& object);

  protocol::Object header;
  Buffer pickle;
  std::vector<Buffer> parts;
  std::vector<Buffer> inline_payload() const { return {header.pickle_follows ? Buffer{} : pickle}; }
};

class ObjectTransfer {
 public:
  // reached: what an earlier connection brought there already.
  ObjectTransfer(const ObjectId& id, const Object& object, const protocol::Reached* reached = nullptr);
  // True: all of it is sent. False: the channel takes no more, or enough was copied for now.
  bool send(transport::Channel& channel);
  // It goes as a separate copy, which the other end gives back.
  bool copies(const transport::Channel& channel) const { return goes_as_memory(channel) && !in_place(); }
  bool copied() const { return copy_->has_value(); }
  const ObjectId& id() const { return object_.header.object; }
  std::uint64_t bytes() const;

 private:
  bool goes_as_memory(const transport::Channel& channel) const;
  bool in_place() const;  // it lies in memory that can be handed over
  bool send_memory(transport::Channel& channel);
  bool send_in_place(transport::Channel& channel);
  bool send_packed(transport::Channel& channel);
  bool send_block(transport::Channel& channel, std::vector<std::uint64_t> places, std::shared_ptr<memory::MemoryBlock> block);
  bool send_chunks(transport::Channel& channel);
  bool skip_to_next();  // false: all sent

  Announcement object_;
  std::shared_ptr<std::optional<memory::Packing>> copy_;  // shared with the object's other transfers
  bool no_memory_ = false, announced_ = false;
  std::uint32_t part_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace pounce::client
