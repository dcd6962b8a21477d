// Simulates when a queued job will start. Running jobs end after times that such jobs really took; waiting jobs start
// in Slurm's order as soon as there is room, until it is this job's turn. Each of many games draws other random
// numbers. Pure; the same line and seed give the same answer. Thread: any.
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
  std::vector<bool> own;            // a limit of this user: a job that waits for it delays no other job
  std::vector<Job> running;
  std::vector<Job> waiting;         // in the order in which Slurm looks at them; the last one is forecast
};

constexpr std::size_t kMostPlayed = 1000;  // running and waiting

struct Span {  // from now
  double low_s = 0, median_s = 0, high_s = 0;
};

// nullopt: by what is known here it never starts, or too many jobs wait to be played.
std::optional<Span> replay(const Line& line, const Runs& runs, std::uint64_t seed = 1);

}  // namespace pounce::forecast
