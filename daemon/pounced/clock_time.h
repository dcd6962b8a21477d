// A moment of the steady clock as the person's clock shows it. Thread: any.
#pragma once

#include <string>

#include "base/clock.h"

namespace pounce::daemon {

// "14:02" of a moment to come; empty of one that is past.
std::string clock_time_of(TimePoint when);

}  // namespace pounce::daemon
