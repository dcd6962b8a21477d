#include "data/buffers.h"

#include <algorithm>
#include <utility>

#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::data {
namespace {

// Below this a copy is cheaper than telling the owner later.
constexpr std::uint64_t kBorrowBytes = 4096;

}  // namespace

Way choose_way(const Facts& facts) {
  const bool affordable = facts.can_be_handed_over || !facts.memory_is_limited;
  if (facts.passes_memory && affordable && facts.bytes >= facts.worth_a_block) return Way::kAsMemory;
  if (facts.has_lane && facts.bytes >= kWorthTheLane) return Way::kOverLane;
  return Way::kInChunks;
}

std::uint64_t total(const std::vector<Bytes>& buffers) {
  std::uint64_t bytes = 0;
  for (const Bytes& buffer : buffers) bytes += buffer.size();
  return bytes;
}

transport::Frame to_frame(const Bytes& buffer, std::uint64_t offset, std::uint64_t size) {
  const auto piece = buffer.bytes.subspan(offset, size);
  if (size < kBorrowBytes) return transport::Frame::copy({reinterpret_cast<const char*>(piece.data()), piece.size()});
  // The callback's copy of `keep` keeps the memory alive until it is sent.
  return transport::Frame::borrow(piece, [keep = buffer.keep]() mutable { keep.reset(); });
}

transport::Message to_message(const protocol::Header& header, const std::vector<Bytes>& payload) {
  transport::Message message;
  message.reserve(1 + payload.size());
  message.push_back(transport::Frame::copy(protocol::encode(header)));
  for (const Bytes& buffer : payload) message.push_back(to_frame(buffer, 0, buffer.size()));
  return message;
}

ChunkSender::ChunkSender(std::string of, std::vector<Bytes> buffers)
    : of_(std::move(of)), buffers_(std::move(buffers)) {
  skip_full();
}

bool ChunkSender::go_on_at(Position position) {
  if (position.buffer >= buffers_.size() || position.offset > buffers_[position.buffer].size()) return false;
  at_ = position;
  skip_full();
  return true;
}

transport::Sent ChunkSender::send(const Send& send) {
  const Bytes& buffer = buffers_[at_.buffer];
  const std::uint64_t size = std::min<std::uint64_t>(buffer.size() - at_.offset, protocol::kChunkBytes);
  transport::Message message;
  message.push_back(transport::Frame::copy(protocol::encode(protocol::Chunk{of_, at_.buffer, at_.offset})));
  message.push_back(to_frame(buffer, at_.offset, size));
  const transport::Sent sent = send(message);
  if (sent != transport::Sent::kYes) return sent;
  at_.offset += size;
  skip_full();
  return sent;
}

void ChunkSender::skip_full() {
  at_.skip_full(buffers_.size(), [this](std::size_t i) { return buffers_[i].size(); });
}

}  // namespace pounce::data
