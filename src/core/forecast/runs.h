// How long jobs really ran, as a share of their requested time: what a forecast learns from. Bounded.
// Pure. Thread: any.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pounce::forecast {

struct Run {
  std::uint32_t job = 0;
  std::string user, class_name;
  std::int64_t limit_s = 0, ran_s = 0;
  std::int64_t submit_s = 0;  // Slurm uses a job's number again
};

// Jobs that are alike. Empty, 0: any.
struct Kind {
  std::string user, class_name;
  std::int64_t limit_s = 0;
  auto operator<=>(const Kind&) const = default;
};

class Runs {
 public:
  static constexpr std::size_t kKept = 1000, kEnough = 8;
  static constexpr std::size_t kNewest = 64;  // of a kind: what people run changes

  // False: it is known already, or says nothing.
  bool add(const Run& run);
  const std::deque<Run>& all() const { return all_; }

  // The sorted shares of such jobs: the user's in the class with the same limit, where enough were seen; else with
  // any limit; else the class's in the same way; else all. Default shares while too few were seen.
  const std::vector<double>& shares(const Kind& kind) const;
  std::size_t seen(const Kind& kind) const;  // how many jobs its shares rest on; 0: they are the defaults

 private:
  std::vector<double> newest(const Kind& kind) const;

  std::deque<Run> all_;
  std::set<std::pair<std::uint32_t, std::int64_t>> known_;
  mutable std::map<Kind, std::vector<double>> shares_;  // computed since the last run was added
};

}  // namespace pounce::forecast
