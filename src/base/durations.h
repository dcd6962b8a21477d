// Parses durations as people write them, with units or in Slurm's format. The only parser: for policy files, for
// options of pouncectl and, through _core, for Python. Pure. Thread: any.
#pragma once

#include <optional>
#include <string_view>

namespace pounce {

// In seconds: "90s", "1.5h", "1h30m", "2 days 4 hours"; or as sbatch reads them: "10:00" (minutes:seconds),
// "02:00:00", "1-12" (days-hours), "1-12:30", "1-12:30:00". A number without a unit is rejected.
std::optional<double> duration_s(std::string_view text);

// A job's time limit in seconds: the same formats, and what else sbatch takes for --time (its manual, "--time"). A
// number without a unit is minutes; INFINITE and UNLIMITED, in any case, and -1 are infinite.
std::optional<double> time_limit_s(std::string_view text);

}  // namespace pounce
