// Bytes that are sent without a copy, and memory that results are received into. Thread: any; the bytes of a Memory
// belong to its receiver until they are whole.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "memory/view.h"
#include "pounce/ids.h"
#include "transport/frame.h"

namespace pounce::client {

// Read-only bytes and what keeps them alive. The last holder may be ZeroMQ's thread: the destructor of `keep` must
// not block and must not take the GIL.
struct Buffer {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keep;
  std::shared_ptr<memory::View> view{};  // of memory that workers of this machine can have as it is; null: other memory
};

Buffer own_buffer(std::string bytes);
transport::Frame to_frame(const Buffer& buffer, std::size_t offset, std::size_t size);
inline transport::Frame to_frame(const Buffer& buffer) { return to_frame(buffer, 0, buffer.bytes.size()); }

// Writable bytes of a result: what numpy makes an array of.
struct Memory {
  std::span<std::byte> bytes;
  std::shared_ptr<void> keep;
};

// Memory of our own that workers of this machine can have without a copy. Null: there is not enough. Thread: any.
std::shared_ptr<memory::View> sharable_memory(std::size_t size);
// The one that these bytes lie in, if any does.
std::shared_ptr<memory::View> sharable_memory_of(std::span<const std::byte> bytes);

// Fresh pages, huge ones where the kernel gives them: receiving into fresh 4 KiB pages costs three times as much
// (gotchas L1).
Memory fresh_memory(std::size_t size);
Memory to_memory(transport::Frame frame);

// Its id: the digest of its pickle and its buffers.
ObjectId digest_object(const Buffer& pickle, std::span<const Buffer> buffers);

}  // namespace pounce::client
