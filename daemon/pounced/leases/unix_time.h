// Converts a moment of the steady clock to Unix time. Thread: any.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace pounce::daemon {

// Seconds since 1970; 0 for a moment that is past.
std::int64_t unix_time_of(TimePoint when);

}  // namespace pounce::daemon
