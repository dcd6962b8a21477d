// Several small messages as one, and back. ZeroMQ enciphers, queues and wakes for each frame by itself: of many short calls
// that is most of what they cost. The bytes are those of docs/protocol.md, "Several in one". Thread: any.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "transport/frame.h"

namespace pounce::transport {

inline constexpr std::size_t kPackedMost = 64;             // messages
inline constexpr std::size_t kPackedBytes = 64 * 1024;     // of all of them
inline constexpr std::size_t kPackedFrames = 16;           // of one message

// How many of the first ones may go as one: 1 where the first has to go alone.
std::size_t packable(const std::deque<Message>& messages);
// The first `count` of them, which stay as they are.
Frame pack(const std::deque<Message>& messages, std::size_t count);
// Exactly `count` messages, each with a frame at least; nullopt: that is not what the bytes are.
std::optional<std::vector<Message>> unpack(std::string_view bytes, std::size_t count);

}  // namespace pounce::transport
