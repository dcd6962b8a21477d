// What holds of each message beside its fields: every bound on what a peer may send (docs/protocol.md §3), checked by
// size before anything is parsed, and what the page says of it. Thread: any (constants).
#pragma once

#include <cstddef>
#include <string_view>

namespace pounce::protocol {

inline constexpr std::size_t kHandshakeMessageBytes = 8 * 1024;  // a HELLO with its proof
inline constexpr std::size_t kControlMessageBytes = 256 * 1024;  // one frame on the control channel
inline constexpr std::size_t kHeaderBytes = 1024 * 1024;         // a JSON header frame, except on the control channel
// Of one task; the header that names them takes half of kHeaderBytes.
inline constexpr std::size_t kTaskObjects = 16 * 1024;
inline constexpr std::size_t kChunkBytes = 1024 * 1024;           // the cheapest frame size: tests/bench/stream.cc
inline constexpr std::size_t kInlineBytes = 1024 * 1024;          // larger arguments become objects
inline constexpr std::size_t kDataFrameBytes = 64 * 1024 * 1024;  // one frame on a data socket (pickles in band)
inline constexpr std::size_t kFramesPerMessage = 1024;            // header + payload frames

// What docs/protocol.md says of a message beside its fields. K kernel (client), D pounced, S supervisor, I
// interpreter, P pouncectl.
struct About {
  std::string_view way;      // "K → D"
  std::string_view payload;  // frames after the header; empty: none
  std::string_view when;
};

}  // namespace pounce::protocol
