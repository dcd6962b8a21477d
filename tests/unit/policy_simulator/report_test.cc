// A day of a site with 200 people and the four classes: limits are met and never exceeded, and nothing is left over. A
// check that finds nothing proves nothing: bugs are planted and must be found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "policy_simulator/simulated_day.h"

namespace pounce::policy_simulator {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Site four_classes() {
  Site site;
  site.keep_warm = 5min;
  site.classes = {
      {"cheetah", 30min, 20, 8, 20}, {"lion", 24h, 4, 4, 10}, {"panther", 7 * 24h, 1, 0, 10}, {"tabby", 12h, 1, 1, 10}};
  return site;
}

void print(const Day& day) {
  std::cout << "MEASURED GPU busy over leased: " << day.gpu_hours_busy / day.gpu_hours_leased << " of "
            << day.gpu_hours_leased << " h; given back for others: " << day.reclaimed_for_others
            << "; events: " << day.events << '\n';
  for (const auto& [name, one] : day.classes)
    std::cout << "MEASURED " << name << ": " << one.calls << " calls, " << one.leases << " leases, " << one.done
              << " done, " << one.lost << " lost, " << one.refused << " refused; wait " << one.median_wait.count()
              << " s, 95 %: " << one.wait_95.count() << " s; bound by jobs " << one.bound_by_jobs << ", by GPUs "
              << one.bound_by_gpus << "; most of one user: " << one.most_jobs << " jobs, " << one.most_gpus
              << " GPUs\n";
}

TEST(DayTest, TwoHundredPeopleMeetEveryLimitAndExceedNoneAndLeaveNothingBehind) {
  if (std::getenv("POUNCE_LONG_RUN") == nullptr)
    GTEST_SKIP() << "half a minute; the smaller days run the same code: POUNCE_LONG_RUN=1 (tests/run --long)";
  const Day day = simulate(four_classes());
  print(day);

  EXPECT_THAT(day.broken, IsEmpty());
  EXPECT_GT(day.classes.at("cheetah").bound_by_jobs, 0u);
  EXPECT_EQ(day.classes.at("cheetah").most_jobs, 20u);
  EXPECT_GT(day.classes.at("cheetah").bound_by_gpus, 0u);
  EXPECT_EQ(day.classes.at("cheetah").most_gpus, 8u);
  EXPECT_EQ(day.classes.at("lion").most_jobs, 4u);
  EXPECT_GT(day.classes.at("lion").bound_by_jobs, 0u);
  EXPECT_EQ(day.classes.at("panther").most_jobs, 1u);
  EXPECT_EQ(day.classes.at("panther").most_gpus, 0u);
  EXPECT_EQ(day.classes.at("tabby").most_jobs, 1u);
  EXPECT_GT(day.classes.at("tabby").bound_by_jobs, 0u);
  EXPECT_GT(day.reclaimed_for_others, 0u);
  for (const auto& [name, one] : day.classes)
    EXPECT_EQ(one.calls, one.done + one.lost + one.refused + one.withdrawn) << name;
}

Site small() {
  Site site = four_classes();
  site.users = 20;
  site.hours = 6h;
  site.classes[0].gpus_per_user = site.classes[1].gpus_per_user = 2;
  return site;
}

TEST(DayTest, TheSameSeedIsTheSameDay) {
  const Day once = simulate(small()), again = simulate(small());
  EXPECT_EQ(once.events, again.events);
  EXPECT_EQ(once.gpu_hours_leased, again.gpu_hours_leased);
  Site other = small();
  other.seed = 2;
  EXPECT_NE(simulate(other).events, once.events);
}

struct IgnoresJobLimit : BatchRules {
  bool within_jobs(const ClassRule&, std::uint32_t) const override { return true; }
};
struct IgnoresGpuLimit : BatchRules {
  bool within_gpus(const ClassRule&, std::uint32_t) const override { return true; }
};
struct NothingEnds : BatchRules {
  bool ends(JobEnd how) const override { return how == JobEnd::kTimeout; }
};

TEST(DayTest, FindsNothingWhereNothingIsWrong) { EXPECT_THAT(simulate(small()).broken, IsEmpty()); }

TEST(DayTest, ALimitOfJobsThatIsIgnoredIsFound) {
  const Day day = simulate(small(), IgnoresJobLimit{});
  ASSERT_FALSE(day.broken.empty());
  EXPECT_THAT(day.broken.front(), HasSubstr("jobs of class"));
}

TEST(DayTest, ALimitOfGpusThatIsIgnoredIsFound) {
  const Day day = simulate(small(), IgnoresGpuLimit{});
  ASSERT_FALSE(day.broken.empty());
  EXPECT_THAT(day.broken.front(), HasSubstr("GPUs of class"));
}

TEST(DayTest, ALeaseThatLeaksIsFound) {
  const Day day = simulate(small(), NothingEnds{});
  ASSERT_FALSE(day.broken.empty());
  EXPECT_THAT(day.broken.front(), HasSubstr("left over"));
}

}  // namespace
}  // namespace pounce::policy_simulator
