// Time as values. The core takes `now` as an argument; only shells read these clocks. Thread: any.
#pragma once

#include <chrono>

namespace pounce {

using Clock = std::chrono::steady_clock;  // never jumps; all deadlines and durations
using TimePoint = Clock::time_point;
using Duration = Clock::duration;
using WallClock = std::chrono::system_clock;  // for display and for Slurm's own stamps only

}  // namespace pounce
