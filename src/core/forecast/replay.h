// When a queued job will start, played forward: what runs ends after a time that such jobs really took, what waits
// starts in Slurm's order as soon as there is room, and so on until it is this one's turn; many times over, with other
// luck each time. Pure; the same line and seed give the same answer. Thread: any.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pounce::forecast {

// How long jobs really ran, as a share of the time that they had asked for: what a forecast learns from. Bounded.
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

// What is in use, in the order of the times at which it is free at the latest: kept in order as jobs start and end, so
// that no question sorts. `Time` is a parameter so that a test can count comparisons.
using Amounts = std::vector<std::uint64_t>;  // of each thing that is counted

template <class Time = double>
class LatestEnds {
 public:
  // `needs` must outlive its entry, and identifies it.
  void add(Time at, const Amounts* needs) {
    ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), at,
                                  [](const Time& time, const End& end) { return time < end.at; }),
                 {at, needs});
  }

  void remove(Time at, const Amounts* needs) {
    auto found = std::lower_bound(ends_.begin(), ends_.end(), at,
                                  [](const End& end, const Time& time) { return end.at < time; });
    while (found != ends_.end() && found->needs != needs) ++found;
    if (found != ends_.end()) ends_.erase(found);
  }

  // The first time when fits(what is free then) is true; nullopt: it never is.
  template <class Fits>
  std::optional<Time> first(Amounts free, const Fits& fits) const {
    for (const End& end : ends_) {
      for (std::size_t i = 0; i < free.size(); ++i) free[i] += (*end.needs)[i];
      if (fits(free)) return end.at;
    }
    return std::nullopt;
  }

 private:
  struct End {
    Time at;
    const Amounts* needs;
  };
  std::vector<End> ends_;
};

struct Job {
  std::string user, class_name;
  std::vector<std::uint64_t> needs;  // of each thing that Line counts
  double limit_s = 0, ran_s = 0;
};

struct Line {
  std::vector<std::uint64_t> room;  // of each thing: all there is, in use or not
  std::vector<bool> own;            // a limit of this user: a job that waits for it delays no other job
  std::vector<Job> running;
  std::vector<Job> waiting;  // in the order in which Slurm looks at them; the last one is forecast
};

constexpr std::size_t kMostPlayed = 1000;  // running and waiting

struct Span {  // from now
  double low_s = 0, median_s = 0, high_s = 0;
};

// nullopt: by what is known here it never starts, or too many jobs wait to be played.
std::optional<Span> replay(const Line& line, const Runs& runs, std::uint64_t seed = 1);

}  // namespace pounce::forecast
