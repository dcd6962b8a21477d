// Packs several small messages into one frame, and unpacks them. ZeroMQ enciphers, queues and wakes per frame, which
// is most of the cost of many short calls. The format is in docs/protocol.md, "Several in one". Thread: any.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "transport/frame.h"

namespace pounce::transport {

inline constexpr std::size_t kPackedMost = 64;             // messages
inline constexpr std::size_t kPackedBytes = 64 * 1024;     // of all messages together
inline constexpr std::size_t kPackedFrames = 16;           // of one message

// How many of the first messages may be packed; 1 if the first has to go alone.
std::size_t packable(const std::deque<Message>& messages);
// Packs the first `count` messages, which stay unchanged.
Frame pack(const std::deque<Message>& messages, std::size_t count);
// Exactly `count` messages, each with at least one frame; nullopt: the bytes are malformed.
std::optional<std::vector<Message>> unpack(std::string_view bytes, std::size_t count);

}  // namespace pounce::transport
