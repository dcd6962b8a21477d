// A moment of the steady clock as others can read it. Thread: any.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace pounce::daemon {

// Seconds since 1970 of a moment to come; 0 of one that is past.
std::int64_t unix_time_of(TimePoint when);

}  // namespace pounce::daemon
