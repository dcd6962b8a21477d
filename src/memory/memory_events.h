// How often the kernel killed a process of this job for memory, by the counters of our control groups (version 1 and
// 2), and how much memory these groups leave us. Read before and after a death, the difference tells an out-of-memory
// kill from any other SIGKILL. Thread: any.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "memory/room.h"

namespace pounce::memory {

// Whether a control group limits this process's memory. Memory that it made then counts as its own even if another
// process has it.
bool memory_is_limited();

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
