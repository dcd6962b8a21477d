// How long jobs really ran, as a share of the time that they had asked for: what a forecast learns from. Bounded. Pure.
// Thread: any.
#pragma once

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
  std::string person, class_name;
  std::int64_t limit_s = 0, ran_s = 0;
};

class Runs {
 public:
  static constexpr std::size_t kKept = 1000, kEnough = 8;

  // False: it is known already, or says nothing.
  bool add(const Run& run);
  const std::deque<Run>& all() const { return all_; }

  // Of such a job, sorted: that person's in the class where enough were seen, else the class's, else all. Before there are
  // enough at all: some that stand for not knowing.
  const std::vector<double>& shares(const std::string& person, const std::string& class_name) const;
  std::size_t seen(const std::string& class_name) const;  // that its shares rest on; 0: they stand for not knowing

 private:
  using Kind = std::pair<std::string, std::string>;

  void forget_oldest();

  std::deque<Run> all_;
  std::set<std::uint32_t> known_;
  std::map<Kind, std::vector<double>> shares_;
};

}  // namespace pounce::forecast
