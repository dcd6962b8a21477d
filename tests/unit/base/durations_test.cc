#include "base/durations.h"

#include <gtest/gtest.h>

#include <limits>

namespace pounce {
namespace {

struct Spelling {
  const char* text;
  double seconds;
};

class SpellingTest : public testing::TestWithParam<Spelling> {};

TEST_P(SpellingTest, IsTheSameAsADurationAndAsATimeLimit) {
  EXPECT_EQ(duration_s(GetParam().text), GetParam().seconds);
  EXPECT_EQ(time_limit_s(GetParam().text), GetParam().seconds);
}

INSTANTIATE_TEST_SUITE_P(All, SpellingTest,
                         testing::Values(Spelling{"10:30", 630}, Spelling{"90:00", 5400}, Spelling{"1:02:03", 3723},
                                         Spelling{"100:00:00", 360000}, Spelling{"1-12", 129600}, Spelling{"1-", 86400},
                                         Spelling{"1-12:30", 131400}, Spelling{"1-12:30:15", 131415},
                                         Spelling{"0-0:1", 60}, Spelling{"90s", 90}, Spelling{"5min", 300},
                                         Spelling{"5m", 300}, Spelling{"1.5h", 5400}, Spelling{"1h30m", 5400},
                                         Spelling{"1 hr 30 mins", 5400}, Spelling{"2 days 4 hours", 187200},
                                         Spelling{" 20MIN ", 1200}, Spelling{"0s", 0}));

class NoDurationTest : public testing::TestWithParam<const char*> {};

TEST_P(NoDurationTest, IsRefused) {
  EXPECT_FALSE(duration_s(GetParam()));
  EXPECT_FALSE(time_limit_s(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, NoDurationTest,
                         testing::Values("", " ", "-", ":30", "30:", "1:2:3:4", "1-2:3:4:5", "1--2", "1-2-3", "a:b",
                                         "30m1h", "1h1h", "h", "5w", "-1h", "+1h", "1e3s", ".5h", "5.h", "1.2.3h",
                                         "inf", "nan", "1h 30", "1:00:00h", "1.5"));

TEST(TimeLimitTest, ANumberAloneIsMinutesAndNoDuration) {
  EXPECT_EQ(time_limit_s("30"), 1800);
  EXPECT_EQ(time_limit_s(" 0 "), 0);
  EXPECT_FALSE(duration_s("30"));
}

TEST(TimeLimitTest, IsInfiniteInSlurmsWords) {
  for (const char* word : {"INFINITE", "UNLIMITED", "Unlimited", "infinite", "-1"}) {
    EXPECT_EQ(time_limit_s(word), std::numeric_limits<double>::infinity()) << word;
    EXPECT_FALSE(duration_s(word)) << word;
  }
}

}  // namespace
}  // namespace pounce
