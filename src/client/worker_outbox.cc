#include "client/worker_outbox.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "memory/cgroup.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"
#include "transport/frame.h"

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
  if (reached == nullptr || reached->buffer >= object_.parts.size() ||
      reached->offset > object_.header.buffers[reached->buffer])
    return;
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
  for (const Buffer& part : object_.parts)
    places.push_back(static_cast<std::uint64_t>(part.bytes.data() - view->bytes().data()));
  return send_block(channel, std::move(places), view->block());
}

// A copy that others get, too, is frozen; else the other end alone has it and may write to it.
bool ObjectTransfer::send_packed(transport::Channel& channel) {
  const memory::Packing& packing = **copy_;
  if (copy_.use_count() > 1) packing.block()->freeze();
  return send_block(channel, packing.places(), packing.block());
}

bool ObjectTransfer::send_block(transport::Channel& channel, std::vector<std::uint64_t> places,
                                std::shared_ptr<memory::MemoryBlock> block) {
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
    message.push_back(
        transport::Frame::copy(protocol::encode(protocol::Chunk{object_.header.object.hex(), part_, offset_})));
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

namespace {

// Each write may wake the worker, which is of no use for tasks that it gets while it has others. Few enough that
// neither side ever waits for the other to fill a batch (core/task sends up to 32 ahead).
constexpr std::size_t kGatherMost = 16;
// Copies that a worker was given and has not taken: one that does not read must not fill this machine's memory.
constexpr std::uint64_t kMostCopied = 128 * 1024 * 1024;

}  // namespace

void Outbox::post(const protocol::Header& header, const std::vector<Buffer>& payload) {
  small_.push_back(to_message(header, payload));
}

void Outbox::post_first(const protocol::Header& header) { small_.push_front(to_message(header, {})); }

void Outbox::post_after_bulk(const TaskId& task, const protocol::Header& header, const std::vector<Buffer>& payload) {
  TaskMessages messages{task, {}};
  messages.messages.push_back(to_message(header, payload));
  post_behind_bulk(std::move(messages));
}

void Outbox::post_behind_bulk(TaskMessages task) {
  if (!bulk_.empty()) return static_cast<void>(bulk_.emplace_back(std::move(task)));
  for (transport::Message& message : task.messages) small_.push_back(std::move(message));
}

void Outbox::post_when_there(std::vector<ObjectId> objects, const TaskId& task, const protocol::Header& header,
                             const std::vector<Buffer>& payload) {
  Waiting& waiting = waiting_.emplace_back(Waiting{std::move(objects), {task, {}}});
  waiting.task.messages.push_back(to_message(header, payload));
}

void Outbox::arrived(const ObjectId& object) {
  if (const auto copy = copies_.extract(object)) copied_bytes_ -= copy.mapped();
  held_back_ = false;
  for (Waiting& one : waiting_) std::erase(one.objects, object);
  std::erase_if(waiting_, [this](Waiting& one) {
    if (!one.objects.empty()) return false;
    post_behind_bulk(std::move(one.task));
    return true;
  });
}

void Outbox::refused(const ObjectId& object) {
  std::erase_if(bulk_, [&](const Bulk& one) {
    const auto* transfer = std::get_if<ObjectTransfer>(&one);
    return transfer != nullptr && transfer->id() == object;
  });
  arrived(object);  // the worker fails the tasks that need it
}

bool Outbox::post_behind_task(const TaskId& task, const protocol::Header& header) {
  TaskMessages* found = nullptr;
  for (Waiting& one : waiting_)
    if (one.task.task == task) found = &one.task;
  for (Bulk& one : bulk_)
    if (auto* messages = std::get_if<TaskMessages>(&one); messages != nullptr && messages->task == task)
      found = messages;
  if (found != nullptr) found->messages.push_back(to_message(header, {}));
  return found != nullptr;
}

void Outbox::post_object(const ObjectId& id, const Object& object, const protocol::Reached* reached) {
  bulk_.emplace_back(ObjectTransfer(id, object, reached));
}

void Outbox::clear() {
  small_.clear();
  bulk_.clear();
  waiting_.clear();
  copies_.clear();
  copied_bytes_ = 0;
  held_back_ = false;
  packs_ = false;
}

bool Outbox::flush(transport::Channel& channel, Pace pace) {
  if (packs_ && pace == Pace::kGather && bulk_.empty() && small_.size() < kGatherMost) return !small_.empty();
  send_all(channel);
  if (pace == Pace::kGather && gathered_ < static_cast<int>(kGatherMost)) return gathered_ > 0;
  channel.flush();
  gathered_ = 0;
  return false;
}

void Outbox::send_all(transport::Channel& channel) {
  while (!small_.empty())
    if (!send_small(channel)) return;
  while (!bulk_.empty()) {
    auto* object = std::get_if<ObjectTransfer>(&bulk_.front());
    if (object != nullptr ? !send_object(*object, channel) : !send_task(std::get<TaskMessages>(bulk_.front()), channel))
      return;
    bulk_.pop_front();
  }
}

bool Outbox::send_object(ObjectTransfer& object, transport::Channel& channel) {
  const bool copies = object.copies(channel);
  held_back_ = copied_bytes_ >= kMostCopied && !object.copied() && copies;
  if (held_back_ || !object.send(channel)) return false;
  if (copies && copies_.try_emplace(object.id(), object.bytes()).second) copied_bytes_ += object.bytes();
  return true;
}

bool Outbox::send_task(TaskMessages& task, transport::Channel& channel) {
  for (; !task.messages.empty(); task.messages.erase(task.messages.begin()))
    if (channel.send(task.messages.front()) != transport::Sent::kYes) return false;
  return true;
}

// Sends the next message, or as many as go as one.
bool Outbox::send_small(transport::Channel& channel) {
  const std::size_t count = packs_ ? transport::packable(small_) : 1;
  if (count == 1) {
    if (channel.send(small_.front()) != transport::Sent::kYes) return false;
  } else {
    transport::Message several;
    several.push_back(transport::Frame::copy(protocol::encode(protocol::Several{static_cast<std::uint32_t>(count)})));
    several.push_back(transport::pack(small_, count));
    if (channel.send(several) != transport::Sent::kYes) return false;
  }
  gathered_ += static_cast<int>(count);
  small_.erase(small_.begin(), small_.begin() + static_cast<std::ptrdiff_t>(count));
  return true;
}

}  // namespace pounce::client
