#include "worker/interpreter/outcome_transfer.h"

#include <algorithm>
#include <utility>

#include "protocol/message_limits.h"

namespace pounce::worker {
namespace {

// Header, pickle and perhaps memory are frames too.
constexpr std::size_t kInlineBuffers = protocol::kFramesPerMessage - 3;

std::size_t inline_count(const std::vector<Bytes>& buffers) {
  std::size_t count = 0;
  while (count < buffers.size() && count < kInlineBuffers && buffers[count].size() < protocol::kInlineBytes) ++count;
  return count;
}

}  // namespace

OutcomeMessage outcome_message(const TaskId& task, const KeptOutcome& outcome) {
  const JobResult& result = outcome.result;
  OutcomeMessage message;
  message.header.task = task;
  message.header.ok = result.ok;
  if (!result.ok) message.header.error = result.error;
  message.header.received_ns = outcome.received_ns;
  message.header.run = result.run;
  message.header.pickle_follows = result.pickle.size() > protocol::kInlineBytes;
  const std::size_t inlined = message.header.pickle_follows ? 0 : inline_count(result.buffers);
  if (message.header.pickle_follows) {
    message.payload.emplace_back();
    message.bulk.push_back(result.pickle);
  } else {
    message.payload.push_back(result.pickle);
    message.payload.insert(message.payload.end(), result.buffers.begin(), result.buffers.begin() + inlined);
  }
  message.bulk.insert(message.bulk.end(), result.buffers.begin() + inlined, result.buffers.end());
  for (const Bytes& bytes : message.bulk) message.header.buffers.push_back(bytes.size());
  return message;
}

OutcomeTransfer::OutcomeTransfer(OutcomeMessage outcome, data::Way way)
    : header_(std::move(outcome.header)),
      payload_(std::move(outcome.payload)),
      chunks_(header_.task.hex(), std::move(outcome.bulk)),
      way_(way),
      announced_(way != data::Way::kAsMemory) {
  if (header_.from) chunks_.go_on_at(header_.from->position());
}

bool OutcomeTransfer::prepare(memory::BlockPool& blocks) {
  if (way_ != data::Way::kAsMemory || (packing_ && packing_->whole())) return true;
  if (!packing_) begin_packing(blocks);
  if (packing_ && packing_->step()) return packing_->whole();
  packing_.reset();
  way_ = data::Way::kInChunks;  // no memory for a second copy
  return true;
}

void OutcomeTransfer::begin_packing(memory::BlockPool& blocks) {
  std::vector<std::span<const std::byte>> pieces;
  for (const Bytes& buffer : chunks_.buffers()) pieces.push_back(buffer.bytes);
  if (auto begun = memory::Packing::begin(blocks, std::move(pieces))) packing_ = std::move(*begun);
}

transport::Sent OutcomeTransfer::send(DataSockets& sockets, const std::string& route) {
  const data::Send to_client = [&](transport::Message& message) { return sockets.send(route, message); };
  if (announced_) return chunks_.send(to_client);
  if (packing_) header_.places = packing_->places();
  transport::Message message = data::to_message(header_, payload_);
  if (packing_) message.push_back(transport::Frame::share(packing_->block()));
  const transport::Sent sent = to_client(message);
  announced_ = sent == transport::Sent::kYes;
  sent_ = announced_ && packing_;
  return sent;
}

}  // namespace pounce::worker
