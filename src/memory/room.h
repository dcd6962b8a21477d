// Checks whether an announced object fits into the memory that this job may use, before any of it comes. A full
// control group is not refused memory: the kernel kills one of its processes (docs/gotchas.md L10). Thread: any
// (values).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "pounce/result.h"

namespace pounce::memory {

struct Room {  // of the control group with the least room
  std::uint64_t limit = 0;
  std::uint64_t left = 0;  // includes the cache of files, which the kernel takes back
};

// `wanted`: the answer need only be exact enough to say whether so much is left. nullopt: no group limits us.
using RoomFor = std::function<std::optional<Room>(std::uint64_t wanted)>;

// promised: bytes reserved for other objects and not used yet. kOutOfMemory: it does not fit, and the text says by
// how much.
Result<void> fits(std::uint64_t size, std::uint64_t promised, const RoomFor& room_for);

}  // namespace pounce::memory
