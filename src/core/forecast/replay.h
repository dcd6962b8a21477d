// When a queued job will start, played forward: what runs ends after a time that such jobs really took, what waits starts in
// Slurm's order as soon as there is room, and so on until it is this one's turn; many times over, with other luck each time.
// Pure; the same line and seed give the same answer. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/forecast/runs.h"

namespace pounce::forecast {

struct Job {
  std::string user, class_name;
  std::vector<std::uint64_t> needs;  // of each thing that Line counts
  double limit_s = 0, ran_s = 0;
};

struct Line {
  std::vector<std::uint64_t> room;  // of each thing: all there is, in use or not
  std::vector<bool> own;            // a limit of this user's: whoever waits for it is in nobody else's way
  std::vector<Job> running;
  std::vector<Job> waiting;         // in the order in which Slurm looks at them; the last is the one that is asked about
};

constexpr std::size_t kMostPlayed = 1000;  // running and waiting

struct Span {  // from now
  double low_s = 0, median_s = 0, high_s = 0;
};

// Nothing: it never starts by what is known here, or too much waits to be played.
std::optional<Span> replay(const Line& line, const Runs& runs, std::uint64_t seed = 1);

}  // namespace pounce::forecast
