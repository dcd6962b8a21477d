// Every bound on what a peer may send (docs/protocol.md §3). Checked by size before anything is parsed.
#pragma once

#include <cstddef>

namespace pounce::protocol {

inline constexpr std::size_t kHandshakeMessageBytes = 8 * 1024;        // a HELLO with its proof
inline constexpr std::size_t kControlMessageBytes = 256 * 1024;      // one frame on the control channel
inline constexpr std::size_t kHeaderBytes = 1024 * 1024;          // a JSON header frame, except on the control channel
// Of one task; the header that names them takes half of kHeaderBytes.
inline constexpr std::size_t kTaskObjects = 16 * 1024;
inline constexpr std::size_t kChunkBytes = 1024 * 1024;           // the cheapest frame size: tests/bench/stream.cc
inline constexpr std::size_t kInlineBytes = 1024 * 1024;          // larger arguments become objects
inline constexpr std::size_t kDataFrameBytes = 64 * 1024 * 1024;  // one frame on a data socket (pickles in band)
inline constexpr std::size_t kFramesPerMessage = 1024;            // header + payload frames

}  // namespace pounce::protocol
