// The numbers of a bulk connection. Thread: any (values).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pounce::tls {

struct Options {
  std::size_t max_frame_bytes = 0;                   // of a frame that comes in; required
  std::size_t max_frames = 1024;                     // of a message that comes in
  std::size_t high_water_bytes = 4 * 1024 * 1024;    // that wait to be sent: from there on send() says kFull
  std::size_t turn_bytes = 4 * 1024 * 1024;          // moved in one call, so that an event loop stays responsive
  std::chrono::milliseconds handshake{5000};         // from the first byte of TCP to the last of the handshake
  std::chrono::milliseconds stall{30'000};           // without a byte, while one is due: then the connection is lost
  std::uint64_t rekey_bytes = std::uint64_t{64} << 30;  // sent with one key; AES-GCM allows about 380 GB (RFC 8446, 5.5)
};

}  // namespace pounce::tls
