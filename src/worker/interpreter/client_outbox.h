// What waits to be sent to one client, in order: small messages first come first served, bulk data (the large buffers of
// outcomes) in chunks behind them, so that a gigabyte on its way never delays an answer. Nothing is copied.
// Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "pounce/ids.h"
#include "protocol/messages.h"
#include "transport/router_socket.h"
#include "worker/interpreter/shared_bytes.h"

namespace pounce::worker {

class Outbox {
 public:
  void post(const protocol::Header& header, std::vector<SharedBytes> payload = {});
  // To be sent as Chunks once everything posted so far is gone.
  void post_bulk(const TaskId& task, std::vector<SharedBytes> buffers);
  // The client acknowledged or restarted: what is left of that transfer is not wanted.
  void drop_bulk(const TaskId& task);
  void clear();

  bool empty() const { return small_.empty() && bulk_.empty(); }
  std::size_t waiting_bytes() const { return waiting_bytes_; }  // of small messages: a reader that sleeps makes it grow
  // Sends until the socket takes no more; false when something is left. A peer that is gone empties it: what matters is
  // kept elsewhere and sent again when the client comes back.
  bool flush(transport::RouterSocket& socket, const std::string& route);

 private:
  struct Transfer {
    std::string of;
    std::vector<SharedBytes> buffers;
    std::uint32_t buffer = 0;
    std::uint64_t offset = 0;
    void skip_full_buffers();
    bool done() const { return buffer == buffers.size(); }
  };
  transport::Sent send_chunk(transport::RouterSocket& socket, const std::string& route, Transfer& transfer);

  std::deque<transport::Message> small_;
  std::size_t waiting_bytes_ = 0;
  std::deque<Transfer> bulk_;
};

// A frame over shared bytes: borrowed when large, copied when that is cheaper than the bookkeeping.
transport::Frame frame_of(const SharedBytes& bytes, std::uint64_t offset, std::uint64_t size);

}  // namespace pounce::worker
