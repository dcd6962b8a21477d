// CURVE keys as values. identity makes the pairs; transport converts to Z85. Thread: any.
#pragma once

#include <string.h>

#include <array>
#include <compare>
#include <cstdint>

namespace pounce {

struct PublicKey {
  std::array<std::uint8_t, 32> bytes{};
  constexpr auto operator<=>(const PublicKey&) const = default;
};

// Wiped when it dies; moved, never copied, so that there is one place to wipe.
class SecretKey {
 public:
  SecretKey() = default;
  SecretKey(SecretKey&& other) noexcept : bytes_(other.bytes_) { other.wipe(); }
  SecretKey& operator=(SecretKey&& other) noexcept {
    bytes_ = other.bytes_;
    if (this != &other) other.wipe();
    return *this;
  }
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;
  ~SecretKey() { wipe(); }

  std::array<std::uint8_t, 32>& bytes() { return bytes_; }
  const std::array<std::uint8_t, 32>& bytes() const { return bytes_; }

 private:
  void wipe() { ::explicit_bzero(bytes_.data(), bytes_.size()); }
  std::array<std::uint8_t, 32> bytes_{};
};

struct KeyPair {
  PublicKey public_key;
  SecretKey secret_key;
};

}  // namespace pounce
