#include "client/memory.h"

#include <sys/mman.h>
#include <xxhash.h>

#include <new>
#include <utility>

#include "base/check.h"

namespace pounce::client {
namespace {

// Below this a copy is cheaper than telling the owner later.
constexpr std::size_t kBorrowBytes = 4096;
constexpr std::size_t kHugePageBytes = 2 * 1024 * 1024;

std::array<std::uint8_t, 16> bytes_of(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  std::array<std::uint8_t, 16> bytes;
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), bytes.begin());
  return bytes;
}

}  // namespace

Buffer own_buffer(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  return {std::as_bytes(std::span(*owner)), owner};
}

transport::Frame to_frame(const Buffer& buffer, std::size_t offset, std::size_t size) {
  const auto part = buffer.bytes.subspan(offset, size);
  if (size < kBorrowBytes)
    return transport::Frame::copy({reinterpret_cast<const char*>(part.data()), part.size()});
  return transport::Frame::borrow(part, [keep = buffer.keep]() mutable { keep.reset(); });
}

Memory fresh_memory(std::size_t size) {
  if (size == 0) return {};
  void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  if (size >= kHugePageBytes) ::madvise(base, size, MADV_HUGEPAGE);  // a wish: it works without
  std::shared_ptr<void> keep(base, [size](void* memory) { ::munmap(memory, size); });
  return {{static_cast<std::byte*>(base), size}, std::move(keep)};
}

Memory to_memory(transport::Frame frame) {
  auto owner = std::make_shared<transport::Frame>(std::move(frame));
  const auto bytes = owner->writable();
  return {bytes, std::move(owner)};
}

std::array<std::uint8_t, 16> digest(std::span<const std::byte> bytes) {
  return bytes_of(XXH3_128bits(bytes.data(), bytes.size()));
}

ObjectId digest_object(const Buffer& pickle, std::span<const Buffer> buffers) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  POUNCE_CHECK(state != nullptr, "no memory for a hash");
  XXH3_128bits_reset(state.get());
  const auto add = [&](std::span<const std::byte> bytes) {
    const std::uint64_t size = bytes.size();
    XXH3_128bits_update(state.get(), &size, sizeof size);
    XXH3_128bits_update(state.get(), bytes.data(), bytes.size());
  };
  add(pickle.bytes);
  for (const Buffer& buffer : buffers) add(buffer.bytes);
  return ObjectId(bytes_of(XXH3_128bits_digest(state.get())));
}

}  // namespace pounce::client
