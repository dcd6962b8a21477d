// The queue of messages to one client: small messages in order, and bulk data (the large buffers of outcomes) behind
// them, so that a gigabyte on its way never delays an answer. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "memory/block_pool.h"
#include "pounce/ids.h"
#include "protocol/messages.h"
#include "worker/interpreter/data_sockets.h"
#include "worker/interpreter/outcome_transfer.h"
#include "worker/interpreter/shared_bytes.h"

namespace pounce::worker {

class Outbox {
 public:
  void post(const protocol::Header& header, std::vector<SharedBytes> payload = {});
  // Its bulk data follows once everything posted so far is gone. Over a route that passes memory the outcome goes as
  // one block.
  void post_outcome(OutcomeMessage outcome, bool as_memory);
  // The client acknowledged or restarted, so the rest of that transfer is not wanted.
  void drop_bulk(const TaskId& task);
  void clear();
  void pack(bool packs) { packs_ = packs; }  // packs several small messages into one, for a client that can read that
  bool packs() const { return packs_; }
  std::size_t waiting() const { return small_.size(); }

  bool empty() const { return small_.empty() && bulk_.empty(); }
  std::size_t waiting_bytes() const { return waiting_bytes_; }  // of small messages; grows while the reader sleeps
  enum class Flushed : std::uint8_t { kAll, kBlocked, kMore };
  // Sends until the socket takes no more (kBlocked) or some milliseconds have passed (kMore). Empties the queue if
  // the peer is gone: what matters is kept elsewhere and sent again when the client comes back.
  Flushed flush(DataSockets& sockets, const std::string& route, memory::BlockPool& blocks);

 private:
  transport::Sent send_small(DataSockets& sockets, const std::string& route);

  std::deque<transport::Message> small_;
  std::size_t waiting_bytes_ = 0;
  std::deque<OutcomeTransfer> bulk_;
  bool packs_ = false;
};

}  // namespace pounce::worker
