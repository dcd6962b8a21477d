// A bounded file of lines that only its user can read. A full file is renamed to "<path>.1" and replaces the older
// one. Thread: loop.
#pragma once

#include <cstdint>
#include <string>

namespace pounce::daemon {

// False: the lines were not written.
bool append_lines(const std::string& path, const std::string& lines, std::uintmax_t most_bytes);

}  // namespace pounce::daemon
