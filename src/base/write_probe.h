// Whether something can be written in a folder, found out by writing it: permissions and free space do not tell of quotas,
// read-only mounts and file servers. Leaves nothing behind. Thread: any; blocks for one fsync.
#pragma once

#include <filesystem>
#include <string>

namespace pounce {

struct WriteProbe {
  std::string trouble;  // empty: it can
  double stamp_s = 0;   // the time then, by the clock of the folder's file system
};

WriteProbe probe_writing(const std::filesystem::path& folder);

// It, or the nearest folder above it that is there: where its first missing part would be made.
std::filesystem::path nearest_existing(std::filesystem::path folder);

}  // namespace pounce
