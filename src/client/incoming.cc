#include "client/incoming.h"

#include <cstring>
#include <new>
#include <utility>

#include "memory/layout.h"
#include "memory/view.h"

namespace pounce::client {
Result<Incoming> Incoming::begin(protocol::Outcome header, transport::Message frames) {
  Incoming incoming;
  incoming.header_ = std::move(header);
  std::shared_ptr<memory::MemoryBlock> block = frames.back().block();
  if (block) frames.pop_back();
  if (frames.size() > 1) incoming.pickle_ = to_memory(std::move(frames[1]));
  for (std::size_t i = 2; i < frames.size(); ++i) incoming.buffers_.push_back(to_memory(std::move(frames[i])));
  try {
    if (block) {
      if (auto taken = incoming.take_block(std::move(block)); !taken) return failure(std::move(taken.error()));
    } else {
      incoming.make_room();
    }
  } catch (const std::bad_alloc&) {
    return failure(ErrorCode::kTooLarge, "There is not enough memory here for the result.",
                   "Return less, or store it in a file on the worker.");
  }
  incoming.skip_full();
  return incoming;
}

void Incoming::place(Memory memory, std::size_t index) {
  if (index == 0 && header_.pickle_follows)
    pickle_ = std::move(memory);
  else
    buffers_.push_back(std::move(memory));
}

void Incoming::make_room() {
  for (std::size_t i = 0; i < header_.buffers.size(); ++i) {
    Memory memory = fresh_memory(header_.buffers[i]);
    chunked_.push_back(memory);
    place(std::move(memory), i);
  }
}

// Ours alone from here on; privately, so that a child that is forked has its own, and without a descriptor: of those there
// are few, and a notebook keeps many results.
Result<void> Incoming::take_block(std::shared_ptr<memory::MemoryBlock> block) {
  const std::uint64_t room = block->capacity();
  if (!memory::lie_within(room, header_.buffers, header_.places))
    return failure(ErrorCode::kProtocol, "a result does not lie in the memory that came with it");
  auto view = memory::View::map(std::move(block), room, memory::Sharing::kPrivate);
  if (!view) throw std::bad_alloc();
  (*view)->let_go_of_block();
  for (std::size_t i = 0; i < header_.buffers.size(); ++i)
    place({(*view)->bytes().subspan(header_.places[i], header_.buffers[i]), *view}, i);
  return {};
}

void Incoming::add(const protocol::Chunk& chunk, std::span<const std::byte> bytes) {
  if (whole() || chunk.buffer != buffer_ || chunk.offset != offset_) return;
  const auto target = chunked_[buffer_].bytes;
  if (bytes.empty() || bytes.size() > target.size() - offset_) return;
  std::memcpy(target.data() + offset_, bytes.data(), bytes.size());
  offset_ += bytes.size();
  skip_full();
}

bool Incoming::goes_on(protocol::Outcome header) {
  if (!header.from || header.from->buffer != buffer_ || header.from->offset != offset_ || header.buffers != header_.buffers) return false;
  header_ = std::move(header);
  return true;
}

protocol::Reached Incoming::reached() const { return {header_.task.hex(), static_cast<std::uint32_t>(buffer_), offset_, false}; }

std::vector<bulk::Target> Incoming::targets() const {
  std::vector<bulk::Target> targets;
  for (const Memory& memory : chunked_) targets.push_back({memory.bytes.size(), memory.bytes, {}, memory.keep});
  return targets;
}

void Incoming::came_to(bulk::Position position) {
  buffer_ = position.buffer;
  offset_ = position.offset;
  skip_full();
}

void Incoming::skip_full() {
  while (buffer_ < chunked_.size() && offset_ == chunked_[buffer_].bytes.size()) {
    ++buffer_;
    offset_ = 0;
  }
}

}  // namespace pounce::client
