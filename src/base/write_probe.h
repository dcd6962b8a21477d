// Tests whether a folder is writable by writing to it: permissions and free space do not reveal quotas, read-only
// mounts and file servers. Leaves nothing behind. Thread: any; blocks for one fsync.
#pragma once

#include <filesystem>
#include <string>

namespace pounce {

struct WriteProbe {
  std::string trouble;  // empty: writable
  double stamp_s = 0;   // the time of the write, by the file system's clock
};

WriteProbe probe_writing(const std::filesystem::path& folder);

// The folder, or its nearest existing parent: there the first missing part would be created.
std::filesystem::path nearest_existing(std::filesystem::path folder);

}  // namespace pounce
