// Bytes with what keeps them alive: they go from hand to hand, and to the other end, without a copy. Thread: any.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace pounce {

// Read-only. The last holder may be ZeroMQ's thread: the destructor of `keep` must not block and must not take the GIL.
struct Bytes {
  std::span<const std::byte> bytes{};
  std::shared_ptr<const void> keep{};
  std::size_t size() const { return bytes.size(); }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

inline Bytes own_bytes(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  const auto bytes = std::as_bytes(std::span(*owner));
  return {bytes, std::move(owner)};
}

// Of one user, who may write to them.
struct WritableBytes {
  std::span<std::byte> bytes{};
  std::shared_ptr<const void> keep{};
  std::size_t size() const { return bytes.size(); }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// A place in buffers that are sent or received one after the other.
struct Position {
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0;
  auto operator<=>(const Position&) const = default;

  // Goes on to the next buffer with something left, or behind the last one. Buffers may be empty.
  void skip_full(std::size_t buffers, const auto& size_of) {
    while (buffer < buffers && offset == size_of(buffer)) *this = {buffer + 1, 0};
  }
};

}  // namespace pounce
