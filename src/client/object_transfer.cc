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

constexpr std::uint64_t kWorthABlock = 256 * 1024;  // the worker copies a smaller one at each use anyway

}  // namespace

transport::Message to_message(const protocol::Header& header, const std::vector<Buffer>& payload) {
  transport::Message message;
  message.reserve(1 + payload.size());
  message.push_back(transport::Frame::copy(protocol::encode(header)));
  for (const Buffer& buffer : payload) message.push_back(to_frame(buffer));
  return message;
}

Announcement::Announcement(const ObjectId& id, const Object& object) : pickle(object.pickle), parts(object.buffers) {
  header.object = id;
  header.device = object.device;
  header.pickle_follows = pickle.bytes.size() > protocol::kInlineBytes;
  if (header.pickle_follows) parts.insert(parts.begin(), pickle);
  for (const Buffer& part : parts) header.buffers.push_back(part.bytes.size());
}

ObjectTransfer::ObjectTransfer(const ObjectId& id, const Object& object, const protocol::Reached* reached)
    : object_(id, object), copy_(object.copies.under_way.lock()) {
  if (!copy_) object.copies.under_way = copy_ = std::make_shared<std::optional<memory::Packing>>();
  if (std::exchange(object.copies.has_been_sent, true)) object.copies.kept = copy_;
  if (reached == nullptr || reached->buffer >= object_.parts.size() || reached->offset > object_.header.buffers[reached->buffer]) return;
  announced_ = true;
  part_ = reached->buffer;
  offset_ = reached->offset;
}

bool ObjectTransfer::send(transport::Channel& channel) {
  return goes_as_memory(channel) ? send_memory(channel) : send_chunks(channel);
}

bool ObjectTransfer::goes_as_memory(const transport::Channel& channel) const {
  // A copy would make it cost us twice its size.
  if (memory::memory_is_limited() && !object_.parts.empty() && !object_.parts.front().view) return false;
  return channel.passes_memory() && !no_memory_ && !announced_ && bytes() >= kWorthABlock;
}

std::uint64_t ObjectTransfer::bytes() const {
  return std::accumulate(object_.header.buffers.begin(), object_.header.buffers.end(), std::uint64_t{0});
}

bool ObjectTransfer::in_place() const {
  const auto& view = object_.parts.front().view;
  return view && std::ranges::all_of(object_.parts, [&](const Buffer& part) { return part.view == view; });
}

bool ObjectTransfer::send_memory(transport::Channel& channel) {
  if (in_place() && object_.parts.front().view->block()->freeze()) return send_in_place(channel);
  auto& packing = *copy_;
  if (!packing) {
    std::vector<std::span<const std::byte>> pieces;
    for (const Buffer& part : object_.parts) pieces.push_back(part.bytes);
    memory::BlockPool none(0);  // sent memory is given away: nothing comes back to be kept
    auto begun = memory::Packing::begin(none, std::move(pieces));
    if (begun) packing = std::move(*begun);
  }
  no_memory_ = !packing || (!packing->whole() && !packing->step());
  if (!no_memory_) return packing->whole() && send_packed(channel);
  packing.reset();
  return send_chunks(channel);
}

bool ObjectTransfer::send_in_place(transport::Channel& channel) {
  const auto& view = object_.parts.front().view;
  std::vector<std::uint64_t> places;
  for (const Buffer& part : object_.parts) places.push_back(static_cast<std::uint64_t>(part.bytes.data() - view->bytes().data()));
  return send_block(channel, std::move(places), view->block());
}

// A copy that others get, too, is frozen; else the other end alone has it and may write to it.
bool ObjectTransfer::send_packed(transport::Channel& channel) {
  const memory::Packing& packing = **copy_;
  if (copy_.use_count() > 1) packing.block()->freeze();
  return send_block(channel, packing.places(), packing.block());
}

bool ObjectTransfer::send_block(transport::Channel& channel, std::vector<std::uint64_t> places, std::shared_ptr<memory::MemoryBlock> block) {
  object_.header.places = std::move(places);
  transport::Message message = to_message(object_.header, object_.inline_payload());
  message.push_back(transport::Frame::share(std::move(block)));
  return channel.send(message) == Sent::kYes;
}

bool ObjectTransfer::send_chunks(transport::Channel& channel) {
  if (!announced_) {
    transport::Message message = to_message(object_.header, object_.inline_payload());
    if (channel.send(message) != Sent::kYes) return false;
    announced_ = true;
  }
  while (skip_to_next()) {
    const Buffer& buffer = object_.parts[part_];
    const std::size_t size = std::min(protocol::kChunkBytes, buffer.bytes.size() - offset_);
    transport::Message message;
    message.push_back(transport::Frame::copy(protocol::encode(protocol::Chunk{object_.header.object.hex(), part_, offset_})));
    message.push_back(to_frame(buffer, offset_, size));
    if (channel.send(message) != Sent::kYes) return false;
    offset_ += size;
  }
  return true;
}

bool ObjectTransfer::skip_to_next() {
  while (part_ < object_.parts.size() && offset_ == object_.parts[part_].bytes.size()) {
    ++part_;
    offset_ = 0;
  }
  return part_ < object_.parts.size();
}

}  // namespace pounce::client
