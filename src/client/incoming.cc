#include "client/incoming.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "memory/block_pool.h"
#include "memory/private_memory.h"

namespace pounce::client {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;  // far over any machine's memory; keeps sums from wrapping

// Writes through the descriptor: fresh pages cost half then (docs/gotchas.md L1). Where that is refused, as by a
// limit on files, it writes through the view.
void fill(const memory::View& view, memory::MemoryBlock& block, std::uint64_t place, std::span<const std::byte> bytes) {
  if (!block.write(place, bytes)) std::memcpy(view.bytes().data() + place, bytes.data(), bytes.size());
}

Bytes copy_of(const WritableBytes& memory) { return own_bytes(std::string(memory.text())); }

}  // namespace

Result<Incoming> Incoming::begin(protocol::Outcome header, transport::Message frames, bool keep) {
  Incoming incoming;
  incoming.header_ = std::move(header);
  std::shared_ptr<memory::MemoryBlock> block = frames.back().block();
  if (block) frames.pop_back();
  if (frames.size() > 1) incoming.pickle_ = to_memory(std::move(frames[1]));
  for (std::size_t i = 2; i < frames.size(); ++i) incoming.buffers_.push_back(to_memory(std::move(frames[i])));
  try {
    if (block) {
      if (auto taken = incoming.take_block(std::move(block), keep); !taken) return failure(std::move(taken.error()));
    } else if (!keep || !incoming.make_kept_room()) {
      incoming.make_room();
    }
  } catch (const std::bad_alloc&) {
    return failure(ErrorCode::kTooLarge, "There is not enough memory here for the result.",
                   "Return less, or store it in a file on the worker.");
  }
  incoming.skip_full();
  return incoming;
}

void Incoming::place(WritableBytes memory, std::size_t index) {
  if (index == 0 && header_.pickle_follows)
    pickle_ = std::move(memory);
  else
    buffers_.push_back(std::move(memory));
}

void Incoming::make_room() {
  for (std::size_t i = 0; i < header_.buffers.size(); ++i) {
    WritableBytes memory = memory::WarmMemory::take(header_.buffers[i]);
    chunked_.push_back(memory);
    place(std::move(memory), i);
  }
}

// Puts the buffers behind each other in one block. False: there is no memory for that.
bool Incoming::make_kept_room() {
  std::vector<std::uint64_t> places;
  std::uint64_t size = 0;
  for (const std::uint64_t each : header_.buffers) {
    if (each > kLargest || size > kLargest) return false;
    places.push_back(size);
    size += memory::aligned(each);
  }
  if (size == 0) return false;
  auto made = memory::MemoryBlock::make(size);
  if (!made) return false;
  const std::shared_ptr<memory::MemoryBlock> block = std::move(*made);
  auto shared = memory::View::map(block, size, memory::Sharing::kShared);
  if (!shared || !lie_in(block, std::move(places))) return false;
  kept_ = std::move(*shared);
  for (std::size_t i = 0; i < header_.buffers.size(); ++i)
    chunked_.push_back({kept_->bytes().subspan(places_[i], header_.buffers[i]), kept_});
  return true;
}

// The block is ours alone from here on.
Result<void> Incoming::take_block(std::shared_ptr<memory::MemoryBlock> block, bool keep) {
  const std::uint64_t room = block->capacity();
  if (!memory::lie_within(room, header_.buffers, header_.places))
    return failure(ErrorCode::kProtocol, "a result does not lie in the memory that came with it");
  if (!lie_in(block, header_.places)) throw std::bad_alloc();
  if (!keep) return {};
  if (auto view = memory::View::map(block, room, memory::Sharing::kPrivate)) kept_ = std::move(*view);
  return {};
}

// Maps the block privately, so that a forked child has its own copy and a write shows in no other view of the block.
// Keeps no descriptor: there are few, and a notebook keeps many results. False: the block cannot be mapped.
bool Incoming::lie_in(const std::shared_ptr<memory::MemoryBlock>& block, std::vector<std::uint64_t> places) {
  auto view = memory::View::map(block, block->capacity(), memory::Sharing::kPrivate);
  if (!view) return false;
  (*view)->let_go_of_block();
  for (std::size_t i = 0; i < header_.buffers.size(); ++i)
    place({(*view)->bytes().subspan(places[i], header_.buffers[i]), *view}, i);
  places_ = std::move(places);
  return true;
}

Object Incoming::object(bool share) const {
  if (!share) kept_->let_go_of_block();
  Object object;
  object.of_result = true;
  if (share) object.sharable = kept_;
  std::size_t in_block = 0;
  const auto next_in_block = [&] {
    const std::size_t i = in_block++;
    return Bytes{kept_->bytes().subspan(places_[i], header_.buffers[i]), kept_};
  };
  object.pickle = header_.pickle_follows ? next_in_block() : copy_of(pickle_);
  const std::size_t came_inline = buffers_.size() + (header_.pickle_follows ? 1 : 0) - header_.buffers.size();
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    object.buffers.push_back(i < came_inline ? copy_of(buffers_[i]) : next_in_block());
  return object;
}

void Incoming::add(const protocol::Chunk& chunk, std::span<const std::byte> bytes) {
  if (whole() || Position{chunk.buffer, chunk.offset} != at_) return;
  const auto target = chunked_[at_.buffer].bytes;
  if (bytes.empty() || bytes.size() > target.size() - at_.offset) return;
  if (kept_ != nullptr)
    fill(*kept_, *kept_->block(), places_[at_.buffer] + at_.offset, bytes);
  else
    std::memcpy(target.data() + at_.offset, bytes.data(), bytes.size());
  at_.offset += bytes.size();
  skip_full();
}

bool Incoming::goes_on(protocol::Outcome header) {
  if (!header.from || header.from->position() != at_ || header.buffers != header_.buffers) return false;
  header_ = std::move(header);
  return true;
}

protocol::Reached Incoming::reached() const { return {header_.task.hex(), at_.buffer, at_.offset, false}; }

std::vector<bulk::Target> Incoming::targets() const {
  std::vector<bulk::Target> targets;
  for (const WritableBytes& memory : chunked_)
    targets.push_back({memory.bytes.size(), memory.bytes, {}, {}, memory.keep});
  for (std::size_t i = 0; kept_ != nullptr && i < targets.size(); ++i) {
    targets[i].place = {};
    targets[i].place_at = memory::places_in(kept_->block(), places_[i]);
    targets[i].write = [view = kept_, block = kept_->block(), place = places_[i]](std::uint64_t offset, auto bytes) {
      fill(*view, *block, place + offset, bytes);
      return Result<void>{};
    };
  }
  return targets;
}

void Incoming::came_to(Position position) {
  at_ = position;
  skip_full();
}

void Incoming::skip_full() {
  at_.skip_full(chunked_.size(), [this](std::size_t i) { return chunked_[i].size(); });
}

}  // namespace pounce::client
