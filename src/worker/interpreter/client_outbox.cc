#include "worker/interpreter/client_outbox.h"

#include <algorithm>

#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::worker {
namespace {

using transport::Frame;
using transport::Message;
using transport::Sent;

constexpr std::uint64_t kCopyBelow = 4 * 1024;

std::size_t size_of(const Message& message) {
  std::size_t size = 0;
  for (const Frame& frame : message) size += frame.size();
  return size;
}

}  // namespace

Frame frame_of(const SharedBytes& bytes, std::uint64_t offset, std::uint64_t size) {
  const auto piece = bytes->view().subspan(offset, size);
  if (size < kCopyBelow) return Frame::copy({reinterpret_cast<const char*>(piece.data()), piece.size()});
  // The callback's copy of `bytes` is what keeps the memory alive until ZeroMQ has sent it.
  return Frame::borrow(piece, [bytes] {});
}

void Outbox::post(const protocol::Header& header, std::vector<SharedBytes> payload) {
  Message message;
  message.reserve(1 + payload.size());
  message.push_back(Frame::copy(protocol::encode(header)));
  for (const SharedBytes& bytes : payload) message.push_back(frame_of(bytes, 0, bytes->size()));
  waiting_bytes_ += size_of(message);
  small_.push_back(std::move(message));
}

void Outbox::post_bulk(const TaskId& task, std::vector<SharedBytes> buffers) {
  drop_bulk(task);
  Transfer transfer{task.hex(), std::move(buffers)};
  transfer.skip_full_buffers();
  if (!transfer.done()) bulk_.push_back(std::move(transfer));
}

void Outbox::drop_bulk(const TaskId& task) {
  std::erase_if(bulk_, [of = task.hex()](const Transfer& transfer) { return transfer.of == of; });
}

void Outbox::clear() {
  waiting_bytes_ = 0;
  small_.clear();
  bulk_.clear();
}

bool Outbox::flush(transport::RouterSocket& socket, const std::string& route) {
  while (!small_.empty()) {
    const std::size_t size = size_of(small_.front());  // sending empties the frames
    const Sent sent = socket.send(route, small_.front());
    if (sent == Sent::kFull) return false;
    if (sent == Sent::kNoSuchPeer) break;
    waiting_bytes_ -= size;
    small_.pop_front();
  }
  while (small_.empty() && !bulk_.empty()) {
    const Sent sent = send_chunk(socket, route, bulk_.front());
    if (sent == Sent::kFull) return false;
    if (sent == Sent::kNoSuchPeer) break;
    if (bulk_.front().done()) bulk_.pop_front();
  }
  clear();
  return true;
}

Sent Outbox::send_chunk(transport::RouterSocket& socket, const std::string& route, Transfer& transfer) {
  const SharedBytes& bytes = transfer.buffers[transfer.buffer];
  const std::uint64_t size = std::min<std::uint64_t>(bytes->size() - transfer.offset, protocol::kChunkBytes);
  Message message;
  message.push_back(Frame::copy(protocol::encode(protocol::Chunk{transfer.of, transfer.buffer, transfer.offset})));
  message.push_back(frame_of(bytes, transfer.offset, size));
  const Sent sent = socket.send(route, message);
  if (sent != Sent::kYes) return sent;
  transfer.offset += size;
  transfer.skip_full_buffers();
  return sent;
}

void Outbox::Transfer::skip_full_buffers() {
  while (!done() && offset == buffers[buffer]->size()) {
    ++buffer;
    offset = 0;
  }
}

}  // namespace pounce::worker
