// Logging for operators: one line per state change, key=value, ids always, no payloads, no secrets. A log file is
// bounded; text from untrusted peers cannot make a line of its own (text.h). Programs call start_log once; all
// other code calls spdlog's free functions. Thread: any.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace pounce {

// path empty: stderr. POUNCE_LOG sets the level (debug, info, warn, error); the default is info.
void start_log(const std::string& program, const std::string& path);

}  // namespace pounce
