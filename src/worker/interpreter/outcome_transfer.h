// An outcome on its way to its client: as messages (one Outcome with the pickle and the leading small buffers, Chunks
// for the rest; protocol/messages.h), and its bulk in chunks behind the header or copied into one block that goes with
// it. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/block_pool.h"
#include "protocol/messages.h"
#include "transport/frame.h"
#include "worker/interpreter/data_sockets.h"
#include "worker/interpreter/run_job.h"

namespace pounce::worker {

struct OutcomeMessage {
  protocol::Outcome header;  // the sender fills in sent_ns
  std::vector<SharedBytes> payload, bulk;
};

OutcomeMessage outcome_message(const TaskId& task, const KeptOutcome& outcome);

transport::Message to_message(const protocol::Header& header, const std::vector<SharedBytes>& payload);

class OutcomeTransfer {
 public:
  // as_memory: its header was not posted, and goes with the block.
  OutcomeTransfer(OutcomeMessage outcome, bool as_memory);

  // Copies for some milliseconds. False: call it again before send().
  bool prepare(memory::BlockPool& blocks);
  transport::Sent send(DataSockets& sockets, const std::string& route);  // sends its next message
  bool done() const { return sent_ || part_ == outcome_.bulk.size(); }
  const TaskId& task() const { return outcome_.header.task; }

 private:
  void begin_packing(memory::BlockPool& blocks);
  transport::Sent send_block(DataSockets& sockets, const std::string& route);
  transport::Sent send_chunk(DataSockets& sockets, const std::string& route);
  void skip_full_buffers();

  OutcomeMessage outcome_;
  bool as_memory_, announced_, sent_ = false;
  std::optional<memory::Packing> packing_;
  std::uint32_t part_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace pounce::worker
