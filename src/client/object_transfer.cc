#include "client/object_transfer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "memory/memory_events.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::client {
namespace {

using transport::Sent;

constexpr std::uint64_t kWorthABlock = 256 * 1024;  // a smaller one is copied at each use there anyway

}  // namespace

transport::Message to_message(const protocol::Header& header, const std::vector<Buffer>& payload) {
  transport::Message message;
  message.reserve(1 + payload.size());
  message.push_back(transport::Frame::copy(protocol::encode(header)));
  for (const Buffer& buffer : payload) message.push_back(to_frame(buffer));
  return message;
}

ObjectTransfer::ObjectTransfer(const ObjectId& id, const Object& object, const protocol::Reached* reached)
    : header_{id, {}, {}, object.pickle.bytes.size() > protocol::kInlineBytes}, pickle_(object.pickle), parts_(object.buffers) {
  if (header_.pickle_follows) parts_.insert(parts_.begin(), object.pickle);
  for (const Buffer& part : parts_) header_.buffers.push_back(part.bytes.size());
  if (reached == nullptr || reached->buffer >= parts_.size() || reached->offset > header_.buffers[reached->buffer]) return;
  announced_ = true;
  part_ = reached->buffer;
  offset_ = reached->offset;
}

bool ObjectTransfer::send(transport::Channel& channel) {
  return goes_as_memory(channel) ? send_memory(channel) : send_chunks(channel);
}

bool ObjectTransfer::goes_as_memory(const transport::Channel& channel) const {
  if (memory::memory_is_limited() && !parts_.empty() && !parts_.front().view) return false;  // it would cost us twice what it is
  return channel.passes_memory() && !no_memory_ && !announced_ &&
         std::accumulate(header_.buffers.begin(), header_.buffers.end(), std::uint64_t{0}) >= kWorthABlock;
}

bool ObjectTransfer::send_memory(transport::Channel& channel) {
  const auto& view = parts_.front().view;
  const bool in_place = view && std::ranges::all_of(parts_, [&](const Buffer& part) { return part.view == view; });
  if (in_place && view->block()->freeze()) return send_in_place(channel);
  if (!packing_) {
    std::vector<std::span<const std::byte>> pieces;
    for (const Buffer& part : parts_) pieces.push_back(part.bytes);
    memory::BlockPool none(0);  // what is sent is given away: nothing comes back to be kept
    auto begun = memory::Packing::begin(none, std::move(pieces));
    if (begun) packing_ = std::move(*begun);
  }
  no_memory_ = !packing_ || !packing_->step();
  if (!no_memory_) return packing_->whole() && send_packed(channel);
  packing_.reset();
  return send_chunks(channel);
}

bool ObjectTransfer::send_in_place(transport::Channel& channel) {
  const auto& view = parts_.front().view;
  std::vector<std::uint64_t> places;
  for (const Buffer& part : parts_) places.push_back(static_cast<std::uint64_t>(part.bytes.data() - view->bytes().data()));
  return send_block(channel, std::move(places), view->block());
}

bool ObjectTransfer::send_packed(transport::Channel& channel) { return send_block(channel, packing_->places(), packing_->block()); }

bool ObjectTransfer::send_block(transport::Channel& channel, std::vector<std::uint64_t> places, std::shared_ptr<memory::MemoryBlock> block) {
  header_.places = std::move(places);
  transport::Message message = to_message(header_, inline_payload());
  message.push_back(transport::Frame::share(std::move(block)));
  return channel.send(message) == Sent::kYes;
}

std::vector<Buffer> ObjectTransfer::inline_payload() const { return {header_.pickle_follows ? Buffer{} : pickle_}; }

bool ObjectTransfer::send_chunks(transport::Channel& channel) {
  if (!announced_) {
    transport::Message message = to_message(header_, inline_payload());
    if (channel.send(message) != Sent::kYes) return false;
    announced_ = true;
  }
  while (skip_to_next()) {
    const Buffer& buffer = parts_[part_];
    const std::size_t size = std::min(protocol::kChunkBytes, buffer.bytes.size() - offset_);
    transport::Message message;
    message.push_back(transport::Frame::copy(protocol::encode(protocol::Chunk{header_.object.hex(), part_, offset_})));
    message.push_back(to_frame(buffer, offset_, size));
    if (channel.send(message) != Sent::kYes) return false;
    offset_ += size;
  }
  return true;
}

bool ObjectTransfer::skip_to_next() {
  while (part_ < parts_.size() && offset_ == parts_[part_].bytes.size()) {
    ++part_;
    offset_ = 0;
  }
  return part_ < parts_.size();
}

}  // namespace pounce::client
