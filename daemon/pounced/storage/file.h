// Small files: written whole so that a reader sees the old content or the new, never a part; or grown line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pounce/error.h"

namespace pounce::daemon {

// Whole files. Thread: any.

// A 0600 temporary beside it, fsync, rename, fsync of the folder.
Result<void> replace_file(const std::string& path, std::string_view content);

// The same for a new file. An existing file is kept, and is an error.
Result<void> create_file(const std::string& path, std::string_view content);

// Read limits, far above what pounced writes.
inline constexpr std::size_t kMostRecordBytes = 1 << 20;     // one statement: endpoint, lock, place, detached record
inline constexpr std::size_t kMostJournalBytes = 256 << 20;  // some ten thousand leases between two starts
inline constexpr std::size_t kMostLinesBytes = 64 << 20;     // a file of lines (file.h), some of them together

// Reads only our own file: follows no link and checks the owner. nullopt: there is none, it is not ours, or it is
// longer.
std::optional<std::string> read_own_file(const std::string& path, std::size_t most_bytes = kMostRecordBytes);

// A file of lines that only its user reads, kept in bounds: once it is full it becomes "<path>.1", in the place of an
// older one. Thread: loop.
// False: the lines were not written.
bool append_lines(const std::string& path, const std::string& lines, std::uintmax_t most_bytes);

}  // namespace pounce::daemon
