#include "client/worker_outbox.h"

#include <algorithm>
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

Announcement::Announcement(const ObjectId& id, const Object& object) : parts(object.buffers) {
  header.object = id;
  header.device = object.device;
  header.pickle_follows = object.pickle.size() > protocol::kInlineBytes;
  if (header.pickle_follows) parts.insert(parts.begin(), object.pickle);
  payload.push_back(header.pickle_follows ? Bytes{} : object.pickle);
  for (const Bytes& part : parts) header.buffers.push_back(part.size());
}

ObjectTransfer::ObjectTransfer(const ObjectId& id, const Object& object, const protocol::Reached* reached)
    : ObjectTransfer(Announcement(id, object), object, reached) {}

ObjectTransfer::ObjectTransfer(Announcement announced, const Object& object, const protocol::Reached* reached)
    : header_(std::move(announced.header)),
      payload_(std::move(announced.payload)),
      chunks_(header_.object.hex(), std::move(announced.parts)),
      sharable_(object.sharable),
      copy_(object.copies.under_way.lock()) {
  if (!copy_) object.copies.under_way = copy_ = std::make_shared<std::optional<memory::Packing>>();
  if (std::exchange(object.copies.has_been_sent, true)) object.copies.kept = copy_;
  announced_ = reached != nullptr && chunks_.go_on_at(reached->position());
}

bool ObjectTransfer::send(transport::Channel& channel) {
  return goes_as_memory(channel) ? send_memory(channel) : send_chunks(channel);
}

bool ObjectTransfer::goes_as_memory(const transport::Channel& channel) const {
  const data::Facts facts{.bytes = bytes(),
                          .passes_memory = channel.passes_memory() && !no_memory_ && !announced_,
                          .worth_a_block = kWorthABlock,
                          .can_be_handed_over = in_place(),
                          .memory_is_limited = memory::memory_is_limited()};
  return data::choose_way(facts) == data::Way::kAsMemory;
}

bool ObjectTransfer::in_place() const {
  return sharable_ && std::ranges::all_of(chunks_.buffers(), [this](const Bytes& part) {
           const auto all = sharable_->bytes();
           return part.bytes.data() >= all.data() && part.bytes.data() + part.size() <= all.data() + all.size();
         });
}

bool ObjectTransfer::send_memory(transport::Channel& channel) {
  if (in_place() && sharable_->block()->freeze()) return send_in_place(channel);
  auto& packing = *copy_;
  if (!packing) {
    std::vector<std::span<const std::byte>> pieces;
    for (const Bytes& part : chunks_.buffers()) pieces.push_back(part.bytes);
    auto begun = memory::Packing::begin(blocks_for_workers(), std::move(pieces));
    if (begun) packing = std::move(*begun);
  }
  no_memory_ = !packing || (!packing->whole() && !packing->step());
  if (!no_memory_) return packing->whole() && send_packed(channel);
  packing.reset();
  return send_chunks(channel);
}

bool ObjectTransfer::send_in_place(transport::Channel& channel) {
  std::vector<std::uint64_t> places;
  for (const Bytes& part : chunks_.buffers())
    places.push_back(static_cast<std::uint64_t>(part.bytes.data() - sharable_->bytes().data()));
  return send_block(channel, std::move(places), sharable_->block());
}

// A copy that others get, too, is frozen; else the other end alone has it and may write to it.
bool ObjectTransfer::send_packed(transport::Channel& channel) {
  const memory::Packing& packing = **copy_;
  if (copy_.use_count() > 1) packing.block()->freeze();
  return send_block(channel, packing.places(), packing.block());
}

bool ObjectTransfer::send_block(transport::Channel& channel, std::vector<std::uint64_t> places,
                                std::shared_ptr<memory::MemoryBlock> block) {
  header_.places = std::move(places);
  transport::Message message = data::to_message(header_, payload_);
  message.push_back(transport::Frame::share(std::move(block)));
  return channel.send(message) == Sent::kYes;
}

bool ObjectTransfer::send_chunks(transport::Channel& channel) {
  const data::Send to_worker = [&](transport::Message& message) { return channel.send(message); };
  if (!announced_) {
    transport::Message message = data::to_message(header_, payload_);
    if (to_worker(message) != Sent::kYes) return false;
    announced_ = true;
  }
  while (!chunks_.done())
    if (chunks_.send(to_worker) != Sent::kYes) return false;
  return true;
}

namespace {

// Each write may wake the worker, which is of no use for tasks that it gets while it has others. Few enough that
// neither side ever waits for the other to fill a batch (core/task sends up to 32 ahead).
constexpr std::size_t kGatherMost = 16;
// Copies that a worker was given and has not taken: one that does not read must not fill this machine's memory.
constexpr std::uint64_t kMostCopied = 128 * 1024 * 1024;

}  // namespace

void Outbox::post(const protocol::Header& header, const std::vector<Bytes>& payload) {
  small_.push_back(data::to_message(header, payload));
}

void Outbox::post_first(const protocol::Header& header) { small_.push_front(data::to_message(header, {})); }

void Outbox::post_after_bulk(const TaskId& task, const protocol::Header& header, const std::vector<Bytes>& payload) {
  TaskMessages messages{task, {}};
  messages.messages.push_back(data::to_message(header, payload));
  post_behind_bulk(std::move(messages));
}

void Outbox::post_behind_bulk(TaskMessages task) {
  if (!bulk_.empty()) return static_cast<void>(bulk_.emplace_back(std::move(task)));
  for (transport::Message& message : task.messages) small_.push_back(std::move(message));
}

void Outbox::post_when_there(std::vector<ObjectId> objects, const TaskId& task, const protocol::Header& header,
                             const std::vector<Bytes>& payload) {
  Waiting& waiting = waiting_.emplace_back(Waiting{std::move(objects), {task, {}}});
  waiting.task.messages.push_back(data::to_message(header, payload));
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
  if (found != nullptr) found->messages.push_back(data::to_message(header, {}));
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
