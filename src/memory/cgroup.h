// What the control groups of this job (version 1 and 2) say of its memory: whether so much more fits, what their limit
// is, and how often the kernel killed a process for memory. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pounce/error.h"

namespace pounce::memory {

// Whether what is announced fits into the memory that this job may use, checked before any of it comes: to a control
// group that has no more the kernel refuses nothing, it ends a process of it (docs/gotchas.md L10). Values.
struct Room {  // of the control group with the least room
  std::uint64_t limit = 0;
  std::uint64_t left = 0;  // includes the cache of files, which the kernel takes back
};

// `wanted`: the answer need only be exact enough to say whether so much is left. nullopt: no group limits us.
using RoomFor = std::function<std::optional<Room>(std::uint64_t wanted)>;

// promised: bytes reserved for other objects and not used yet. kOutOfMemory: it does not fit, and the text says by
// how much.
Result<void> fits(std::uint64_t size, std::uint64_t promised, const RoomFor& room_for);

// The kills are read before and after a death: the difference tells an out-of-memory kill from any other SIGKILL.

// Whether a control group limits this process's memory. Memory that it made then counts as its own even if another
// process has it.
bool memory_is_limited();

// For memory that is kept warm: how much of it at most, an eighth of what this process may use. It must never be what
// the user's own code then lacks.
std::size_t memory_to_keep();
// Memory that is free for this process now, in bytes: of its control groups and of the machine.
std::uint64_t free_memory();

class MemoryEvents {
 public:
  using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

  static MemoryEvents of_this_process();
  // cgroups: the text of /proc/self/cgroup.
  MemoryEvents(const std::string& cgroups, ReadFile read);

  // Sum over our group and those above it; nullopt where no counter can be read.
  std::optional<std::uint64_t> kills() const;
  // The smallest limit over our group and those above it, in bytes.
  std::optional<std::uint64_t> limit() const;
  // The room of the group that leaves least.
  std::optional<Room> room(std::uint64_t wanted) const;

 private:
  struct Group {
    std::string folder;
    bool unified;
  };
  std::optional<std::uint64_t> limit_of(const Group& group) const;
  std::optional<std::uint64_t> used_by(const Group& group) const;
  std::uint64_t cached_by(const Group& group) const;

  std::vector<Group> groups_;
  ReadFile read_;
};

}  // namespace pounce::memory
