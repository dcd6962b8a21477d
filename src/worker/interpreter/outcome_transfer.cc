#include "worker/interpreter/outcome_transfer.h"

#include <algorithm>
#include <utility>

#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::worker {
namespace {

// Header, pickle and perhaps memory are frames too.
constexpr std::size_t kInlineBuffers = protocol::kFramesPerMessage - 3;

std::size_t inline_count(const std::vector<SharedBytes>& buffers) {
  std::size_t count = 0;
  while (count < buffers.size() && count < kInlineBuffers && buffers[count]->size() < protocol::kInlineBytes) ++count;
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
  message.header.pickle_follows = result.pickle->size() > protocol::kInlineBytes;
  const std::size_t inlined = message.header.pickle_follows ? 0 : inline_count(result.buffers);
  if (message.header.pickle_follows) {
    static const SharedBytes kEmpty = own_bytes({});
    message.payload.push_back(kEmpty);
    message.bulk.push_back(result.pickle);
  } else {
    message.payload.push_back(result.pickle);
    message.payload.insert(message.payload.end(), result.buffers.begin(), result.buffers.begin() + inlined);
  }
  message.bulk.insert(message.bulk.end(), result.buffers.begin() + inlined, result.buffers.end());
  for (const SharedBytes& bytes : message.bulk) message.header.buffers.push_back(bytes->size());
  return message;
}

namespace {

using transport::Frame;
using transport::Message;
using transport::Sent;

constexpr std::uint64_t kCopyBelow = 4 * 1024;

// Borrows large pieces, and copies a piece when that is cheaper than the bookkeeping.
Frame frame_of(const SharedBytes& bytes, std::uint64_t offset, std::uint64_t size) {
  const auto piece = bytes->view().subspan(offset, size);
  if (size < kCopyBelow) return Frame::copy({reinterpret_cast<const char*>(piece.data()), piece.size()});
  // The callback's copy of `bytes` keeps the memory alive until it is sent.
  return Frame::borrow(piece, [bytes] {});
}

}  // namespace

Message to_message(const protocol::Header& header, const std::vector<SharedBytes>& payload) {
  Message message;
  message.reserve(1 + payload.size());
  message.push_back(Frame::copy(protocol::encode(header)));
  for (const SharedBytes& bytes : payload) message.push_back(frame_of(bytes, 0, bytes->size()));
  return message;
}

OutcomeTransfer::OutcomeTransfer(OutcomeMessage outcome, bool as_memory)
    : outcome_(std::move(outcome)), as_memory_(as_memory), announced_(!as_memory) {
  if (const auto& from = outcome_.header.from;
      from && from->buffer < outcome_.bulk.size() && from->offset <= outcome_.bulk[from->buffer]->size()) {
    part_ = from->buffer;
    offset_ = from->offset;
  }
  skip_full_buffers();
}

bool OutcomeTransfer::prepare(memory::BlockPool& blocks) {
  if (!as_memory_ || (packing_ && packing_->whole())) return true;
  if (!packing_) begin_packing(blocks);
  if (packing_ && packing_->step()) return packing_->whole();
  packing_.reset();
  as_memory_ = false;  // no memory for a second copy: it goes in chunks
  return true;
}

void OutcomeTransfer::begin_packing(memory::BlockPool& blocks) {
  std::vector<std::span<const std::byte>> pieces;
  for (const SharedBytes& bytes : outcome_.bulk) pieces.push_back(bytes->view());
  if (auto begun = memory::Packing::begin(blocks, std::move(pieces))) packing_ = std::move(*begun);
}

Sent OutcomeTransfer::send(DataSockets& sockets, const std::string& route) {
  if (packing_) return send_block(sockets, route);
  if (announced_) return send_chunk(sockets, route);
  Message message = to_message(outcome_.header, outcome_.payload);
  const Sent sent = sockets.send(route, message);
  announced_ = sent == Sent::kYes;
  return sent;
}

Sent OutcomeTransfer::send_block(DataSockets& sockets, const std::string& route) {
  outcome_.header.places = packing_->places();
  Message message = to_message(outcome_.header, outcome_.payload);
  message.push_back(Frame::share(packing_->block()));
  const Sent sent = sockets.send(route, message);
  sent_ = sent == Sent::kYes;
  return sent;
}

Sent OutcomeTransfer::send_chunk(DataSockets& sockets, const std::string& route) {
  const SharedBytes& bytes = outcome_.bulk[part_];
  const std::uint64_t size = std::min<std::uint64_t>(bytes->size() - offset_, protocol::kChunkBytes);
  Message message;
  message.push_back(Frame::copy(protocol::encode(protocol::Chunk{task().hex(), part_, offset_})));
  message.push_back(frame_of(bytes, offset_, size));
  const Sent sent = sockets.send(route, message);
  if (sent != Sent::kYes) return sent;
  offset_ += size;
  skip_full_buffers();
  return sent;
}

void OutcomeTransfer::skip_full_buffers() {
  while (part_ < outcome_.bulk.size() && offset_ == outcome_.bulk[part_]->size()) {
    ++part_;
    offset_ = 0;
  }
}

}  // namespace pounce::worker
