#include "client/worker_outbox.h"

#include <algorithm>

#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::client {
namespace {

transport::Message to_message(const protocol::Header& header, const std::vector<Buffer>& payload) {
  transport::Message message;
  message.reserve(1 + payload.size());
  message.push_back(transport::Frame::copy(protocol::encode(header)));
  for (const Buffer& buffer : payload) message.push_back(to_frame(buffer));
  return message;
}

}  // namespace

void Outbox::post(const protocol::Header& header, const std::vector<Buffer>& payload) {
  small_.push_back(to_message(header, payload));
}

void Outbox::post_after_bulk(const protocol::Header& header, const std::vector<Buffer>& payload) {
  if (bulk_.empty()) return post(header, payload);
  bulk_.emplace_back(to_message(header, payload));
}

void Outbox::post_chunks(const ObjectId& of, std::vector<Buffer> buffers) {
  bulk_.emplace_back(Chunks{of.hex(), std::move(buffers)});
}

void Outbox::clear() {
  small_.clear();
  bulk_.clear();
}

bool Outbox::flush(transport::DealerSocket& socket) {
  while (!small_.empty()) {
    if (!send(socket, small_.front())) return false;
    small_.pop_front();
  }
  while (!bulk_.empty()) {
    auto* chunks = std::get_if<Chunks>(&bulk_.front());
    if (chunks != nullptr ? !send_all(socket, *chunks) : !send(socket, std::get<transport::Message>(bulk_.front())))
      return false;
    bulk_.pop_front();
  }
  return true;
}

bool Outbox::send(transport::DealerSocket& socket, transport::Message& message) {
  return socket.send(message) == transport::Sent::kYes;
}

bool Outbox::Chunks::skip_to_next() {
  while (buffer < buffers.size() && offset == buffers[buffer].bytes.size()) {
    ++buffer;
    offset = 0;
  }
  return buffer < buffers.size();
}

bool Outbox::send_all(transport::DealerSocket& socket, Chunks& chunks) {
  while (chunks.skip_to_next()) {
    const Buffer& buffer = chunks.buffers[chunks.buffer];
    const std::size_t size = std::min(protocol::kChunkBytes, buffer.bytes.size() - chunks.offset);
    transport::Message message;
    message.push_back(transport::Frame::copy(
        protocol::encode(protocol::Chunk{chunks.of, chunks.buffer, chunks.offset})));
    message.push_back(to_frame(buffer, chunks.offset, size));
    if (!send(socket, message)) return false;
    chunks.offset += size;
  }
  return true;
}

}  // namespace pounce::client
