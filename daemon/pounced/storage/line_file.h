// A file of lines that only its user reads, kept in bounds: once it is full it becomes "<path>.1", in the place of an older
// one. Thread: loop.
#pragma once

#include <cstdint>
#include <string>

namespace pounce::daemon {

bool append_lines(const std::string& path, const std::string& lines, std::uintmax_t most_bytes);  // false: they are not there

}  // namespace pounce::daemon
