// Whether what is announced fits into the memory that this job may use, asked before any of it comes: to a control group that has
// no more the kernel refuses nothing, it ends a process of it (docs/gotchas.md L10). Thread: any (values).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "pounce/result.h"

namespace pounce::memory {

struct Room {  // of the control group that has the least of it
  std::uint64_t limit = 0;
  std::uint64_t left = 0;  // what is cached of files counts as left: the kernel takes that back
};

// `wanted`: it need not be known more exactly than whether so much is left. nullopt: no group bounds us.
using RoomFor = std::function<std::optional<Room>(std::uint64_t wanted)>;

// promised: to others, and not taken by them yet. kOutOfMemory: it does not fit, and the text says by how much.
Result<void> fits(std::uint64_t size, std::uint64_t promised, const RoomFor& room_for);

}  // namespace pounce::memory
