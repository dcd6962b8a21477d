// A time span in an option of the command line. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "pounce/result.h"

namespace pounce::ctl {

Result<std::int64_t> seconds_of(const std::string& span);  // "7d", "12h", "90min": base/durations.h

}  // namespace pounce::ctl
