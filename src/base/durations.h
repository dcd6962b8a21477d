// Durations as people write them: with units, or as Slurm does. The only place that reads them: for policy files, for
// options of pouncectl and, through _core, for Python. Pure. Thread: any.
#pragma once

#include <optional>
#include <string_view>

namespace pounce {

// In seconds: "90s", "1.5h", "1h30m", "2 days 4 hours"; or as sbatch reads them: "10:00" (minutes:seconds),
// "02:00:00", "1-12" (days-hours), "1-12:30", "1-12:30:00". A number alone is none: its unit is not known.
std::optional<double> duration_s(std::string_view text);

// A job's time limit in seconds: the same, and what else sbatch takes for --time (its manual, "--time"): a number alone
// is minutes, and INFINITE and UNLIMITED, in any letters, and -1 are infinite.
std::optional<double> time_limit_s(std::string_view text);

}  // namespace pounce
