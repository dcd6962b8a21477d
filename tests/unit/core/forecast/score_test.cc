#include "core/forecast/score.h"

#include <gtest/gtest.h>

namespace pounce::forecast {
namespace {

Statement said(const std::string& lease, std::int64_t at, std::int64_t start, std::int64_t low, std::int64_t high,
               std::int64_t came) {
  return {lease, at, start, low, high, came};
}

TEST(Score, CountsErrorWidthAndWhetherTheIntervalHeld) {
  const Score three =
      score({said("a", 0, 100, 80, 120, 110), said("b", 0, 100, 80, 120, 150), said("c", 0, 200, 100, 300, 220)});

  EXPECT_EQ(three.waits, 3u);
  EXPECT_DOUBLE_EQ(three.median_error_s, 20);
  EXPECT_DOUBLE_EQ(three.median_width_s, 40);
  EXPECT_DOUBLE_EQ(three.median_wait_s, 150);
  EXPECT_NEAR(three.coverage, 2.0 / 3, 1e-9);
}

TEST(Score, OfEachWaitTheFirstStatementCounts) {
  const Score one = score({said("a", 50, 110, 100, 120, 110), said("a", 0, 60, 50, 70, 110)});

  EXPECT_EQ(one.waits, 1u);
  EXPECT_EQ(one.statements, 2u);
  EXPECT_DOUBLE_EQ(one.median_error_s, 50);
  EXPECT_DOUBLE_EQ(one.coverage, 0);
  EXPECT_DOUBLE_EQ(one.coverage_of_all, 0.5);
}

TEST(Score, TheBestConstantIsChosenAfterwards) {
  const Score five = score({said("a", 0, 0, 0, 0, 10), said("b", 0, 0, 0, 0, 12), said("c", 0, 0, 0, 0, 14),
                            said("d", 0, 0, 0, 0, 500), said("e", 0, 0, 0, 0, 900)});

  EXPECT_DOUBLE_EQ(five.best_constant_s, 12);
  EXPECT_DOUBLE_EQ(five.constant_error_s, 2);
}

TEST(Score, OfNothingThereIsNothing) { EXPECT_EQ(score({}).waits, 0u); }

}  // namespace
}  // namespace pounce::forecast
