// Logging for operators: one line per state change, key=value, ids always, no payloads, no secrets. A file is bounded;
// what strangers say cannot make a line of its own (printable.h).
// Programs call start_log once; everything else calls spdlog's free functions. Thread: any.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace pounce {

// path empty: stderr. Level from POUNCE_LOG (debug, info, warn, error), info without it.
void start_log(const std::string& program, const std::string& path);

}  // namespace pounce
