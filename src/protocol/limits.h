// Every bound on what a peer may send (docs/protocol.md §3). Checked by size before anything is parsed.
#pragma once

#include <cstddef>

namespace pounce::protocol {

inline constexpr std::size_t kDoorMessageBytes = 8 * 1024;        // a HELLO with its proof
inline constexpr std::size_t kHallMessageBytes = 256 * 1024;      // one frame in the hall
inline constexpr std::size_t kHeaderBytes = 64 * 1024;            // a JSON header frame, except in the hall
inline constexpr std::size_t kChunkBytes = 1024 * 1024;           // the cheapest frame size: tests/bench/stream.cc
inline constexpr std::size_t kInlineBytes = 1024 * 1024;          // larger arguments become objects (design §6)
inline constexpr std::size_t kDataFrameBytes = 64 * 1024 * 1024;  // one frame on a data socket (pickles in band)
inline constexpr std::size_t kFramesPerMessage = 1024;            // header + payload frames

}  // namespace pounce::protocol
