#include "core/forecast/cluster.h"

#include <gmock/gmock.h>

#include <chrono>

namespace pounce::forecast {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

AnyJob job(std::uint32_t id, std::uint32_t priority, Things things) {
  AnyJob one;
  one.id = id, one.priority = priority, one.things = std::move(things);
  one.user = "bob", one.account = "ml", one.class_name = "lion", one.partitions = {"gpu"}, one.limit_s = 600;
  one.competes = true;
  return one;
}

AnyJob runs(std::uint32_t id, Things things, std::uint32_t node = 0) {
  AnyJob one = job(id, 1, std::move(things));
  one.runs = true, one.competes = false, one.nodes = {node};
  return one;
}

Cluster cluster() {
  Cluster all;
  all.nodes = {{true, {{"cpu", 8}, {"gpu", 4}}}, {true, {{"cpu", 8}, {"gpu", 4}}}, {true, {{"cpu", 64}}}};
  all.partitions = {{"gpu", {0, 1}}, {"cpu", {2}}, {"all", {0, 1, 2}}};
  return all;
}

TEST(Cluster, ALineIsOfTheNodesThatTheJobMayUse) {
  Cluster all = cluster();
  all.jobs = {runs(1, {{"cpu", 2}, {"gpu", 1}}), runs(2, {{"cpu", 2}}, 2)};

  const Line line = line_of(all, job(9, 5, {{"cpu", 1}, {"gpu", 1}}));

  EXPECT_THAT(line.room, ElementsAre(16, 8));
  ASSERT_THAT(line.running, SizeIs(1));
  EXPECT_THAT(line.running[0].needs, ElementsAre(2, 1));
}

TEST(Cluster, ANodeThatTakesNoWorkGivesNoRoom) {
  Cluster all = cluster();
  all.nodes[1].takes_work = false;
  all.jobs = {runs(1, {{"gpu", 1}}, 1)};

  const Line line = line_of(all, job(9, 5, {{"gpu", 1}}));

  EXPECT_THAT(line.room, ElementsAre(8, 4));
  EXPECT_THAT(line.running, SizeIs(0));
}

TEST(Cluster, AheadIsWhoCompetesThereAndGoesFirst) {
  Cluster all = cluster();
  AnyJob elsewhere = job(3, 9, {}), held = job(4, 0, {}), limited = job(5, 9, {}), array = job(6, 9, {});
  elsewhere.partitions = {"cpu"}, limited.competes = false, array.count = 3, array.partitions = {"all"};
  all.jobs = {job(1, 7, {}), job(2, 5, {}), elsewhere, held, limited, array, job(10, 5, {})};

  EXPECT_THAT(line_of(all, job(9, 5, {})).waiting, SizeIs(3 + 1 + 1 + 1));
}

TEST(Cluster, OneThatAsksForMoreThanTheseNodesHaveIsNotAhead) {
  Cluster all = cluster();
  AnyJob larger = job(1, 9, {{"gpu", 12}}), smaller = job(2, 9, {{"gpu", 8}});
  larger.partitions = smaller.partitions = {"all"};
  all.jobs = {larger, smaller};

  EXPECT_THAT(line_of(all, job(9, 5, {{"gpu", 1}})).waiting, SizeIs(1 + 1));
}

// Seen with 2,000 nodes and 50,000 jobs: each job's nodes were gathered anew, which took longer than pounce-slurm is
// waited for.
TEST(Cluster, ALongQueueOnManyNodesIsCutInATimeThatDoesNotGrowWithBothTimesEachOther) {
  Cluster all;
  for (std::uint32_t node = 0; node < 4000; ++node) {
    all.nodes.push_back({true, {{"cpu", 8}}});
    all.partitions["all"].push_back(node);
  }
  for (std::uint32_t id = 100; id < 50'100; ++id) {
    all.jobs.push_back(job(id, 9, {{"cpu", 8}}));
    all.jobs.back().partitions = {"all"};
  }
  AnyJob mine = job(9, 5, {{"cpu", 1}});
  mine.partitions = {"all"};

  const auto begin = std::chrono::steady_clock::now();
  const Line line = line_of(all, mine);

  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));  // 0.1 s; it was a minute
  EXPECT_FALSE(replay(line, Runs()));
}

TEST(Cluster, MoreThanCanBePlayedIsNotEvenBuilt) {
  Cluster all = cluster();
  for (std::uint32_t id = 100; id < 200; ++id) {
    all.jobs.push_back(job(id, 9, {{"gpu", 1}}));
    all.jobs.back().count = 5000;
  }

  const Line line = line_of(all, job(9, 5, {{"gpu", 1}}));

  EXPECT_LE(line.waiting.size(), kMostPlayed + 2);
  EXPECT_FALSE(replay(line, {}));
}

TEST(Cluster, ALimitIsRoomThatOnlyThoseUsersJobsTake) {
  Cluster all = cluster();
  AnyJob carols = runs(2, {{"gpu", 1}});
  carols.user = "carol";
  all.jobs = {runs(1, {{"gpu", 1}}), carols};
  AnyJob mine = job(9, 5, {{"gpu", 2}});
  mine.competes = false;

  const Line line = line_of(all, mine, {{"gres/gpu", 2, 1, 2}, Counts::kUser, true});

  EXPECT_THAT(line.room, ElementsAre(16, 8, 2));
  EXPECT_THAT(line.own, ElementsAre(false, false, true));
  EXPECT_THAT(line.running[0].needs, ElementsAre(0, 1, 1));
  EXPECT_THAT(line.running[1].needs, ElementsAre(0, 1, 0));
  EXPECT_THAT(line.waiting.back().needs, ElementsAre(0, 2, 2));
}

TEST(Cluster, WhatALimitCountsAndNobodySeesNeverEnds) {
  Cluster all = cluster();
  all.jobs = {runs(1, {})};

  const Line line = line_of(all, job(9, 5, {}), {{"job", 4, 4, 1}, Counts::kUser, true});

  EXPECT_EQ(line.room.back(), 1u);
}

TEST(Cluster, AThingOfWhichMoreIsInUseThanThereIsCountsForNothing) {
  Cluster all = cluster();
  all.jobs = {runs(1, {{"cpu", 20}, {"gpu", 1}})};

  EXPECT_THAT(line_of(all, job(9, 5, {{"cpu", 1}, {"gpu", 1}})).room, ElementsAre(8));
}

TEST(Cluster, FreeIsWhatNobodyHas) {
  Cluster all = cluster();
  all.jobs = {runs(1, {{"cpu", 2}, {"gpu", 1}}), runs(2, {{"cpu", 4}}, 2)};

  EXPECT_EQ(free_of(all, {"gpu"}), (Things{{"cpu", 14}, {"gpu", 7}}));
  EXPECT_EQ(free_of(all, {"cpu"}), (Things{{"cpu", 60}}));
}

}  // namespace
}  // namespace pounce::forecast
