// What is free when, at the latest: the same answer as from sorting all ends for each question, without sorting.
#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <utility>

#include "core/forecast/replay.h"

namespace pounce::forecast {
namespace {

struct CountedTime {
  double value = 0;
  static inline std::size_t compared = 0;
  friend bool operator<(const CountedTime& a, const CountedTime& b) {
    ++compared;
    return a.value < b.value;
  }
};

using Ends = std::vector<std::pair<double, const Amounts*>>;

template <class Fits>
std::optional<double> first_of_sorted(Ends ends, Amounts free, const Fits& fits) {
  std::ranges::sort(ends, {}, &Ends::value_type::first);
  for (const auto& [at, needs] : ends) {
    for (std::size_t i = 0; i < free.size(); ++i) free[i] += (*needs)[i];
    if (fits(free)) return at;
  }
  return std::nullopt;
}

auto at_least(Amounts asked) {
  return [asked = std::move(asked)](const Amounts& free) { return free[0] >= asked[0] && free[1] >= asked[1]; };
}

TEST(LatestEnds, AnswersAsSortingAllEndsForEachQuestionDoes) {
  std::mt19937 luck(12);
  const auto upto = [&](std::uint64_t most) { return luck() % (most + 1); };
  std::vector<Amounts> jobs(300);
  for (Amounts& needs : jobs) needs = {upto(4), upto(4)};
  LatestEnds<> kept;
  Ends all;
  for (const Amounts& needs : jobs) {
    const auto at = static_cast<double>(upto(20));  // many end at the same time
    kept.add(at, &needs);
    all.emplace_back(at, &needs);
    if (upto(2) == 0) {
      const auto gone = all.begin() + static_cast<std::ptrdiff_t>(upto(all.size() - 1));
      kept.remove(gone->first, gone->second);
      all.erase(gone);
    }
    const Amounts free{upto(8), upto(8)};
    const auto fits = at_least({upto(400), upto(400)});

    ASSERT_EQ(kept.first(free, fits), first_of_sorted(all, free, fits));
  }
}

TEST(LatestEnds, NeverSaysATimeForWhatNeverFits) {
  const Amounts one{1, 1};
  LatestEnds<> ends;
  ends.add(5, &one);

  EXPECT_EQ(ends.first({0, 0}, at_least({2, 0})), std::nullopt);
}

// The old form sorted all of them, which took seconds with a thousand jobs.
TEST(LatestEnds, AQuestionComparesNoTimesAndAThousandJobsAFewEach) {
  constexpr std::size_t kJobs = 1024;
  const Amounts one{1, 1};
  LatestEnds<CountedTime> ends;
  CountedTime::compared = 0;

  for (std::size_t i = 0; i < kJobs; ++i) ends.add({static_cast<double>(i * 7919 % kJobs)}, &one);
  const std::size_t for_adding = CountedTime::compared;
  const auto fits_at = ends.first({0, 0}, at_least({kJobs, kJobs}));

  EXPECT_LE(for_adding, kJobs * std::bit_width(kJobs));
  EXPECT_EQ(CountedTime::compared, for_adding);
  EXPECT_EQ(fits_at->value, kJobs - 1);
}

}  // namespace
}  // namespace pounce::forecast
