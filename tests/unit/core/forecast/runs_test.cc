#include <gmock/gmock.h>

#include "core/forecast/replay.h"

namespace pounce::forecast {
namespace {

using testing::AllOf;
using testing::Each;
using testing::SizeIs;

Runs of(const std::string& user, const std::string& class_name, int count, std::int64_t ran_s, std::uint32_t from = 1) {
  Runs runs;
  for (int i = 0; i < count; ++i) runs.add({from + static_cast<std::uint32_t>(i), user, class_name, 100, ran_s});
  return runs;
}

TEST(Runs, ThoseUsersOwnCountOnceThereAreEnough) {
  Runs runs = of("alice", "lion", 8, 50);
  for (std::uint32_t job = 100; job < 120; ++job) runs.add({job, "bob", "lion", 100, 10});

  EXPECT_THAT(runs.shares({"alice", "lion"}), Each(0.5));
  EXPECT_THAT(runs.shares({"carol", "lion"}), SizeIs(28));
  EXPECT_THAT(runs.shares({"carol", "lion", 100}), SizeIs(28));
}

TEST(Runs, ThoseWithTheSameLimitSayMoreThanOthers) {
  Runs runs = of("alice", "lion", 20, 50);
  for (std::uint32_t job = 100; job < 108; ++job) runs.add({job, "alice", "lion", 60, 6});

  EXPECT_THAT(runs.shares({"alice", "lion", 60}), AllOf(SizeIs(8), Each(0.1)));
  EXPECT_THAT(runs.shares({"alice", "lion", 3600}), SizeIs(28));
  EXPECT_THAT(runs.shares({"bob", "lion", 60}), AllOf(SizeIs(8), Each(0.1)));
}

TEST(Runs, OnlyTheNewestOfAKindCount) {
  Runs runs = of("alice", "lion", 100, 50);
  for (std::uint32_t job = 500; job < 500 + Runs::kNewest; ++job) runs.add({job, "alice", "lion", 100, 20});

  EXPECT_THAT(runs.shares({"alice", "lion", 100}), AllOf(SizeIs(Runs::kNewest), Each(0.2)));
}

TEST(Runs, ANumberThatSlurmUsesAgainIsAnotherJob) {
  Runs runs;

  EXPECT_TRUE(runs.add({7, "alice", "lion", 100, 30, 1000}));
  EXPECT_TRUE(runs.add({7, "alice", "lion", 100, 30, 2000}));
  EXPECT_FALSE(runs.add({7, "alice", "lion", 100, 30, 2000}));
}

TEST(Runs, UntilEnoughWereSeenItStandsForNotKnowing) {
  const Runs runs = of("alice", "lion", 7, 50);

  EXPECT_EQ(runs.seen({"", "lion"}), 0u);
  EXPECT_GT(runs.shares({"alice", "lion"}).back() - runs.shares({"alice", "lion"}).front(), 0.9);
}

TEST(Runs, AClassThatIsNewLearnsFromTheOthers) {
  const Runs runs = of("alice", "lion", 20, 30);

  EXPECT_THAT(runs.shares({"bob", "cheetah"}), Each(0.3));
  EXPECT_EQ(runs.seen({"", "cheetah"}), 20u);
}

TEST(Runs, AJobIsCountedOnceAndNeverBeyondItsTime) {
  Runs runs;

  EXPECT_TRUE(runs.add({7, "alice", "lion", 100, 130}));
  EXPECT_FALSE(runs.add({7, "alice", "lion", 100, 130}));
  EXPECT_FALSE(runs.add({8, "alice", "lion", 0, 130}));
  EXPECT_THAT(runs.all(), SizeIs(1));
}

TEST(Runs, TheOldestIsForgottenAndWithItItsShare) {
  Runs runs = of("alice", "lion", Runs::kKept, 50);

  for (std::uint32_t job = 5000; job < 5000 + Runs::kKept; ++job) runs.add({job, "alice", "lion", 100, 20});

  EXPECT_THAT(runs.all(), SizeIs(Runs::kKept));
  EXPECT_THAT(runs.shares({"alice", "lion"}), Each(0.2));
  EXPECT_TRUE(runs.add({1, "alice", "lion", 100, 20}));
}

}  // namespace
}  // namespace pounce::forecast
