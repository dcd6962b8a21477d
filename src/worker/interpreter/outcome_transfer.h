// An outcome on its way to its client: as messages (one Outcome with the pickle and the leading small buffers, Chunks
// for the rest; protocol/messages.h), or with the rest copied into one block that goes with it. Thread: the leader
// token's holder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/buffers.h"
#include "memory/block_pool.h"
#include "protocol/messages.h"
#include "worker/interpreter/data_sockets.h"
#include "worker/interpreter/run_job.h"

namespace pounce::worker {

struct OutcomeMessage {
  protocol::Outcome header;  // the sender fills in sent_ns
  std::vector<Bytes> payload, bulk;
};

OutcomeMessage outcome_message(const TaskId& task, const KeptOutcome& outcome);

class OutcomeTransfer {
 public:
  // kAsMemory: its header was not posted, and goes with the block.
  OutcomeTransfer(OutcomeMessage outcome, data::Way way);

  // Copies for some milliseconds. False: call it again before send().
  bool prepare(memory::BlockPool& blocks);
  transport::Sent send(DataSockets& sockets, const std::string& route);  // sends its next message
  bool done() const { return sent_ || chunks_.done(); }
  const TaskId& task() const { return header_.task; }

 private:
  void begin_packing(memory::BlockPool& blocks);

  protocol::Outcome header_;
  std::vector<Bytes> payload_;
  data::ChunkSender chunks_;
  data::Way way_;
  bool announced_, sent_ = false;
  std::optional<memory::Packing> packing_;
};

}  // namespace pounce::worker
