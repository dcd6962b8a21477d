#include "core/forecast/replay.h"

#include <gtest/gtest.h>

namespace pounce::forecast {
namespace {

// All jobs of this history ran for half of their time.
Runs halves() {
  Runs runs;
  for (std::uint32_t job = 1; job <= 10; ++job) runs.add({job, "bob", "lion", 100, 50});
  return runs;
}

Job job(std::uint64_t gpus, double limit_s, double ran_s = 0) { return {"bob", "lion", {gpus}, limit_s, ran_s}; }

TEST(Replay, OneStartsWhenTheOneBeforeItHasRunAsLongAsSuchJobsDo) {
  const auto span = replay({{1}, {false}, {job(1, 100, 20)}, {job(1, 100)}}, halves());

  ASSERT_TRUE(span);
  EXPECT_DOUBLE_EQ(span->low_s, 30);
  EXPECT_DOUBLE_EQ(span->high_s, 30);
}

TEST(Replay, WhoeverIsAheadRunsFirst) {
  const auto span = replay({{1}, {false}, {job(1, 100)}, {job(1, 200), job(1, 100)}}, halves());

  ASSERT_TRUE(span);
  EXPECT_DOUBLE_EQ(span->median_s, 150);
}

TEST(Replay, ASmallOneGoesBeforeALargeOneOnlyWhereItDelaysNothing) {
  const Line line{{4}, {false}, {job(3, 100)}, {job(4, 100), job(1, 90)}};
  const Line too_long{{4}, {false}, {job(3, 100)}, {job(4, 100), job(1, 110)}};

  EXPECT_DOUBLE_EQ(replay(line, halves())->low_s, 0);
  EXPECT_DOUBLE_EQ(replay(too_long, halves())->low_s, 100);
}

TEST(Replay, WhoWaitsForALimitIsInNobodysWay) {
  Job limited = job(1, 100), mine = job(1, 100), runs = job(0, 100);
  limited.needs.push_back(1), mine.needs.push_back(0), runs.needs.push_back(1);
  const Line line{{1, 1}, {false, true}, {runs, {"bob", "lion", {1, 0}, 100, 40}}, {limited, mine}};

  EXPECT_DOUBLE_EQ(replay(line, halves())->median_s, 10);
}

TEST(Replay, SecondsOverWhatIsKnownAreNoReasonToExpectItsWholeLimit) {
  Runs short_ones;
  for (std::uint32_t job = 1; job <= 10; ++job) short_ones.add({job, "bob", "lion", 1000, job});

  const auto span = replay({{1}, {false}, {job(1, 1000, 11)}, {job(1, 100)}}, short_ones);

  ASSERT_TRUE(span);
  EXPECT_LE(span->high_s, 11);
}

TEST(Replay, OneThatHasRunLongerThanAnyKnownMayRunToItsLimit) {
  const auto span = replay({{1}, {false}, {job(1, 100, 80)}, {job(1, 100)}}, halves());

  ASSERT_TRUE(span);
  EXPECT_GE(span->low_s, 0);
  EXPECT_LE(span->high_s, 20);
  EXPECT_GT(span->high_s - span->low_s, 10);
}

TEST(Replay, OfWhatNeverFitsNothingIsSaid) {
  EXPECT_FALSE(replay({{1}, {false}, {job(1, 100)}, {job(2, 100)}}, halves()));
  EXPECT_FALSE(replay({{1}, {false}, std::vector<Job>(2000, job(0, 100)), {job(1, 100)}}, halves()));
}

TEST(Replay, WithoutHistoryTheSpanIsWide) {
  const auto span = replay({{1}, {false}, {job(1, 1000)}, {job(1, 100)}}, {});

  EXPECT_GT(span->high_s - span->low_s, 500);
}

TEST(Replay, TheSameLineAndSeedGiveTheSameAnswer) {
  const Line line{{2}, {false}, {job(1, 1000), job(1, 700)}, {job(1, 100), job(2, 100)}};

  EXPECT_EQ(replay(line, {}, 7)->median_s, replay(line, {}, 7)->median_s);
}

}  // namespace
}  // namespace pounce::forecast
