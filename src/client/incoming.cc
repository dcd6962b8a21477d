#include "client/incoming.h"

#include <cstring>
#include <new>
#include <utility>

namespace pounce::client {

Result<Incoming> Incoming::begin(protocol::Outcome header, transport::Message frames) {
  Incoming incoming;
  incoming.header_ = std::move(header);
  if (frames.size() > 1) incoming.pickle_ = to_memory(std::move(frames[1]));
  for (std::size_t i = 2; i < frames.size(); ++i) incoming.buffers_.push_back(to_memory(std::move(frames[i])));
  try {
    bool is_pickle = incoming.header_.pickle_follows;
    for (const std::uint64_t size : incoming.header_.buffers) {
      Memory memory = fresh_memory(size);
      incoming.chunked_.push_back(memory.bytes);
      if (std::exchange(is_pickle, false))
        incoming.pickle_ = std::move(memory);
      else
        incoming.buffers_.push_back(std::move(memory));
    }
  } catch (const std::bad_alloc&) {
    return failure(ErrorCode::kTooLarge, "There is not enough memory here for the result.",
                   "Return less, or store it in a file on the worker.");
  }
  incoming.skip_full();
  return incoming;
}

void Incoming::add(const protocol::Chunk& chunk, std::span<const std::byte> bytes) {
  if (whole() || chunk.buffer != buffer_ || chunk.offset != offset_) return;
  const auto target = chunked_[buffer_];
  if (bytes.empty() || bytes.size() > target.size() - offset_) return;
  std::memcpy(target.data() + offset_, bytes.data(), bytes.size());
  offset_ += bytes.size();
  skip_full();
}

void Incoming::skip_full() {
  while (buffer_ < chunked_.size() && offset_ == chunked_[buffer_].size()) {
    ++buffer_;
    offset_ = 0;
  }
}

}  // namespace pounce::client
