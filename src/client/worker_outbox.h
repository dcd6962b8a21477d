// What waits to be sent to one worker. Two lanes: small messages, first come first served, and behind them objects on
// their way in chunks with the tasks that need them, so that a gigabyte on its way never delays a cancel or a beat.
// Nothing large is copied. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <variant>
#include <vector>

#include "client/memory.h"
#include "protocol/messages.h"
#include "transport/dealer_socket.h"

namespace pounce::client {

class Outbox {
 public:
  void post(const protocol::Header& header, const std::vector<Buffer>& payload = {});
  // Behind everything in the bulk lane.
  void post_after_bulk(const protocol::Header& header, const std::vector<Buffer>& payload = {});
  void post_chunks(const ObjectId& of, std::vector<Buffer> buffers);
  void clear();

  // Sends until the socket takes no more; true when nothing is left.
  bool flush(transport::DealerSocket& socket);
  bool empty() const { return small_.empty() && bulk_.empty(); }

 private:
  struct Chunks {
    std::string of;
    std::vector<Buffer> buffers;
    std::uint32_t buffer = 0;
    std::uint64_t offset = 0;
    bool skip_to_next();  // false: all sent
  };
  using Bulk = std::variant<transport::Message, Chunks>;

  static bool send(transport::DealerSocket& socket, transport::Message& message);
  static bool send_all(transport::DealerSocket& socket, Chunks& chunks);

  std::deque<transport::Message> small_;
  std::deque<Bulk> bulk_;
};

}  // namespace pounce::client
