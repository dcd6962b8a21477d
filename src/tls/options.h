// The numbers of a bulk connection. Thread: any (values).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pounce::tls {

struct Options {
  std::size_t max_frame_bytes = 0;                   // of an incoming frame; required
  std::size_t max_frames = 1024;                     // of an incoming message
  std::size_t high_water_bytes = 4 * 1024 * 1024;    // waiting to be sent; above it send() returns kFull
  std::size_t turn_bytes = 4 * 1024 * 1024;          // moved in one call, so that an event loop stays responsive
  std::chrono::milliseconds handshake{5000};         // from the first byte of TCP to the end of the handshake
  std::chrono::milliseconds stall{30'000};           // without a byte while one is due; then the connection is lost
  // Sent with one key; AES-GCM allows about 380 GB (RFC 8446, 5.5)
  std::uint64_t rekey_bytes = std::uint64_t{64} << 30;
};

}  // namespace pounce::tls
