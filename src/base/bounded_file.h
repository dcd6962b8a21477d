// Reading of files that should be small: one that is not, by whatever mistake, must not cost our memory. A regular file only,
// so that nothing waits for a pipe's other end. Thread: any; blocks as the file system does.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace pounce {

// Of an open file, from where it stands. Longer than `most_bytes`: nullopt, as one that cannot be read.
std::optional<std::string> read_whole(int file, std::size_t most_bytes);
std::optional<std::string> read_whole(const std::string& path, std::size_t most_bytes);

// Of a longer one its last lines: what was appended last counts most. Empty: it cannot be read.
std::string read_end(const std::string& path, std::size_t most_bytes);

}  // namespace pounce
