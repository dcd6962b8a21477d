// Reads files that should be small: a file that is large by mistake must not cost our memory. Regular files only, so
// that nothing waits for a pipe's other end. Thread: any; blocks as the file system does.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace pounce {

// Reads an open file from its current position. nullopt: it is longer than `most_bytes` or cannot be read.
std::optional<std::string> read_whole(int file, std::size_t most_bytes);
std::optional<std::string> read_whole(const std::string& path, std::size_t most_bytes);

// The whole file; the last lines of a longer one, because the latest entries matter most. Empty: it cannot be read.
std::string read_end(const std::string& path, std::size_t most_bytes);

}  // namespace pounce
