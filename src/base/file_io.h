// Reading small files whole, writing all bytes, and finding out whether a folder can be written. Thread: any; blocks as
// the file system does.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace pounce {

// Reading of files that should be small: one that by some mistake is not must not cost our memory. A regular file only,
// so that nothing waits for a pipe's other end.

// Reads an open file from its current position. nullopt: it is longer than `most_bytes` or cannot be read.
std::optional<std::string> read_whole(int file, std::size_t most_bytes);
std::optional<std::string> read_whole(const std::string& path, std::size_t most_bytes);

// The whole file; the last lines of a longer one, because the latest entries matter most. Empty: it cannot be read.
std::string read_end(const std::string& path, std::size_t most_bytes);

bool write_all(int fd, std::string_view bytes);  // false: errno says why; a part may be written

// Whether something can be written in a folder, found out by writing it: permissions and free space do not tell of
// quotas, read-only mounts and file servers. Leaves nothing behind; blocks for one fsync.
struct WriteProbe {
  std::string trouble;  // empty: writable
  double stamp_s = 0;   // the time of the write, by the file system's clock
};

WriteProbe probe_writing(const std::filesystem::path& folder);

// The folder, or its nearest existing parent: there the first missing part would be created.
std::filesystem::path nearest_existing(std::filesystem::path folder);

}  // namespace pounce
