// What is in use, ordered by the time at which it is free at the latest. It stays ordered as jobs start and end, so
// that no query sorts. `Time` is a parameter so that a test can count comparisons. Pure. Thread: any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace pounce::forecast {

using Amounts = std::vector<std::uint64_t>;  // of each thing that is counted

template <class Time = double>
class LatestEnds {
 public:
  // `needs` must outlive its entry, and identifies it.
  void add(Time at, const Amounts* needs) {
    ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), at, [](const Time& time, const End& end) { return time < end.at; }),
                 {at, needs});
  }

  void remove(Time at, const Amounts* needs) {
    auto found = std::lower_bound(ends_.begin(), ends_.end(), at, [](const End& end, const Time& time) { return end.at < time; });
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

}  // namespace pounce::forecast
