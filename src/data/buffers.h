// Buffers on their way to the other end, the same from a client to a worker and back: which way they take, and as
// messages over the data connection. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "protocol/messages.h"
#include "transport/channel.h"
#include "transport/frame.h"

namespace pounce::data {

enum class Way : std::uint8_t {
  kInChunks,  // behind the message that announces them, over the data connection
  kAsMemory,  // as one block of memory, to a process of this machine
  kOverLane   // the other end fetches them over the bulk lane
};

struct Facts {
  std::uint64_t bytes = 0;          // of all buffers
  bool passes_memory = false;       // the data connection does
  std::uint64_t worth_a_block = 1;  // with fewer bytes they go in chunks
  bool can_be_handed_over = false;  // they lie in memory that needs no copy
  bool memory_is_limited = false;   // by a cgroup: a copy would cost its owner twice the size
  bool has_lane = false;
};

// Smaller data is cheaper beside the calls: the lane needs one more request and answer for the same bytes.
inline constexpr std::uint64_t kWorthTheLane = 4 * 1024 * 1024;

Way choose_way(const Facts& facts);

std::uint64_t total(const std::vector<Bytes>& buffers);  // in bytes

transport::Frame to_frame(const Bytes& buffer, std::uint64_t offset, std::uint64_t size);
transport::Message to_message(const protocol::Header& header, const std::vector<Bytes>& payload);

using Send = std::function<transport::Sent(transport::Message&)>;

// The chunks of buffers that were announced: sends one at a time, in order.
class ChunkSender {
 public:
  ChunkSender(std::string of, std::vector<Bytes> buffers);

  // Goes on where an earlier connection ended. False: that is not a place in these buffers, and all of them are sent.
  bool go_on_at(Position position);

  const std::vector<Bytes>& buffers() const { return buffers_; }
  bool done() const { return at_.buffer == buffers_.size(); }
  transport::Sent send(const Send& send);  // the next one

 private:
  void skip_full();

  std::string of_;
  std::vector<Bytes> buffers_;
  Position at_;
};

}  // namespace pounce::data
