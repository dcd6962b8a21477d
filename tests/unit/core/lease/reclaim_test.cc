// Which idle warm leases go for those who wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/lease/rules.h"

namespace pounce::lease {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SlurmJobId kA{1}, kB{2}, kC{3};

Room room(std::map<std::string, std::uint32_t> gpus, std::uint32_t cpus = 1, std::uint64_t memory_mib = 1000) {
  return {std::move(gpus), cpus, memory_mib};
}
RoomHeld held(SlurmJobId job, const Room& what, const char* node = "g1") { return {{job, 100, 0}, node, what}; }
RoomAsked asked(const Room& each) { return {{"gpu"}, "", {}, {}, 1, each}; }
NodeRoom node(const char* name = "g1", const Room& free = {}) {
  return {name, {"gpu", "all"}, {"nvlink", "a100"}, free};
}
QueueSnapshot look(std::vector<RoomAsked> waiting, std::vector<RoomHeld> held_by_us,
                   std::vector<NodeRoom> nodes = {node()}) {
  return {false, std::move(waiting), std::move(held_by_us), std::move(nodes)};
}

struct OneLease {
  const char* name;
  RoomAsked asked;
  bool helps;
};
void PrintTo(const OneLease& one, std::ostream* out) { *out << one.name; }

RoomAsked with(RoomAsked base, void (*change)(RoomAsked&)) {
  change(base);
  return base;
}

class OneLeaseTest : public ::testing::TestWithParam<OneLease> {};

// One lease of one a100, 2 CPUs and 4000 MiB, on a node with 1 CPU and 1000 MiB free.
TEST_P(OneLeaseTest, HelpsOrNot) {
  const QueueSnapshot seen =
      look({GetParam().asked}, {held(kA, room({{"a100", 1}}, 2, 4000))}, {node("g1", room({}, 1, 1000))});
  EXPECT_EQ(to_reclaim(seen, {kA}, {}).size(), GetParam().helps ? 1u : 0u);
}

const RoomAsked kGpu = asked(room({{"", 1}}));
INSTANTIATE_TEST_SUITE_P(
    EachKind, OneLeaseTest,
    ::testing::Values(
        OneLease{"any GPU", kGpu, true}, OneLease{"its type", asked(room({{"a100", 1}})), true},
        OneLease{"another type", asked(room({{"h100", 1}})), false},
        OneLease{"two GPUs", asked(room({{"", 2}})), false},
        OneLease{"two of its type", asked(room({{"a100", 2}})), false},
        OneLease{"what is free already", asked(room({}, 1, 1000)), false},
        OneLease{"CPUs that it holds", asked(room({}, 3, 1000)), true},
        OneLease{"more CPUs than there are", asked(room({}, 4, 1000)), false},
        OneLease{"GPU, and CPUs that are free beside it", asked(room({{"", 1}}, 3, 1000)), true},
        OneLease{"memory that it holds", asked(room({}, 1, 5000)), true},
        OneLease{"more memory", asked(room({{"", 1}}, 1, 5001)), false},
        OneLease{"another partition", with(kGpu, [](RoomAsked& a) { a.partitions = {"cpu"}; }), false},
        OneLease{"one partition of two", with(kGpu, [](RoomAsked& a) { a.partitions = {"cpu", "all"}; }), true},
        OneLease{"a feature of the node", with(kGpu, [](RoomAsked& a) { a.features = "nvlink&a100"; }), true},
        OneLease{"a feature that it lacks", with(kGpu, [](RoomAsked& a) { a.features = "nvlink&h100"; }), false},
        OneLease{"one feature or the other", with(kGpu, [](RoomAsked& a) { a.features = "h100|a100"; }), true},
        OneLease{"this node", with(kGpu, [](RoomAsked& a) { a.only_nodes = {"g1"}; }), true},
        OneLease{"another node", with(kGpu, [](RoomAsked& a) { a.only_nodes = {"g2"}; }), false},
        OneLease{"any node but this", with(kGpu, [](RoomAsked& a) { a.not_nodes = {"g1"}; }), false},
        OneLease{"nothing at all", asked(Room{}), false}));

TEST(ReclaimTest, NobodyWaitsAndNothingGoes) {
  EXPECT_THAT(to_reclaim(look({}, {held(kA, room({{"a100", 1}}))}), {kA}, {}), IsEmpty());
}

TEST(ReclaimTest, OneWhoWaitsGetsOneLeaseTheLongestIdle) {
  const QueueSnapshot seen = look({kGpu}, {held(kA, room({{"a100", 1}})), held(kB, room({{"a100", 1}}))});
  EXPECT_THAT(to_reclaim(seen, {kB, kA}, {}), ElementsAre(kB));
}

TEST(ReclaimTest, EachWhoWaitsGetsOne) {
  const QueueSnapshot seen =
      look({kGpu, kGpu}, {held(kA, room({{"a100", 1}})), held(kB, room({{"a100", 1}})), held(kC, room({{"a100", 1}}))});
  EXPECT_THAT(to_reclaim(seen, {kA, kB, kC}, {}), ElementsAre(kA, kB));
}

TEST(ReclaimTest, SeveralOfOneNodeGoForOneWhoAsksForMore) {
  const QueueSnapshot seen =
      look({asked(room({{"", 2}}, 2))}, {held(kA, room({{"a100", 1}})), held(kB, room({{"a100", 1}}))});
  EXPECT_THAT(to_reclaim(seen, {kA, kB}, {}), ElementsAre(kA, kB));
}

TEST(ReclaimTest, LeasesOnTwoNodesDoNotMakeUpForOne) {
  const QueueSnapshot seen =
      look({asked(room({{"", 2}}, 2))}, {held(kA, room({{"a100", 1}})), held(kB, room({{"a100", 1}}), "g2")},
           {node("g1"), node("g2")});
  EXPECT_THAT(to_reclaim(seen, {kA, kB}, {}), IsEmpty());
}

TEST(ReclaimTest, TheNodeWhereFewestHaveToGo) {
  const QueueSnapshot seen =
      look({asked(room({{"", 2}}, 2, 0))},
           {held(kA, room({{"a100", 1}})), held(kB, room({{"a100", 1}})), held(kC, room({{"a100", 2}}, 2), "g2")},
           {node("g1"), node("g2")});
  EXPECT_THAT(to_reclaim(seen, {kA, kB, kC}, {}), ElementsAre(kC));
}

TEST(ReclaimTest, OneWhoCanStartOnAnotherNodeTakesNothing) {
  const QueueSnapshot seen =
      look({kGpu}, {held(kA, room({{"a100", 1}}))}, {node("g1"), node("g2", room({{"h100", 1}}, 4))});
  EXPECT_THAT(to_reclaim(seen, {kA}, {}), IsEmpty());
}

TEST(ReclaimTest, WhatIsOnItsWayOutCounts) {
  const QueueSnapshot seen = look({kGpu}, {held(kA, room({{"a100", 1}})), held(kB, room({{"a100", 1}}))});
  EXPECT_THAT(to_reclaim(seen, {kB}, {kA}), IsEmpty());
}

TEST(ReclaimTest, OnlyWhatIsShortGoes) {
  const QueueSnapshot seen = look({kGpu}, {held(kA, room({}, 8)), held(kB, room({{"a100", 1}}))});
  EXPECT_THAT(to_reclaim(seen, {kA, kB}, {}), ElementsAre(kB));
}

TEST(ReclaimTest, OneWhoAsksForSeveralNodesGetsThoseThatCanBeHad) {
  RoomAsked two = kGpu;
  two.nodes = 2;
  const QueueSnapshot seen =
      look({two}, {held(kA, room({{"a100", 1}})), held(kB, room({{"a100", 1}}), "g2")}, {node("g1"), node("g2")});
  EXPECT_THAT(to_reclaim(seen, {kA, kB}, {}), ElementsAre(kA, kB));
}

TEST(ReclaimTest, AJobThatNobodyShowsIsNotGivenBack) {
  EXPECT_THAT(to_reclaim(look({kGpu}, {}), {kA}, {}), IsEmpty());
  EXPECT_THAT(to_reclaim(look({kGpu}, {held(kA, room({{"a100", 1}}))}, {}), {kA}, {}), IsEmpty());
}

TEST(FeaturesTest, AreReadAsSlurmWritesThem) {
  const std::vector<std::string> has = {"a", "b"};
  for (const char* expression : {"", "a", "a&b", "x|a", "[x|a]", "a*2", "a*2&b*1", "(x&a)|b", "a,b"})
    EXPECT_TRUE(has_features(expression, has)) << expression;
  for (const char* expression : {"x", "a&x", "x|y", "[x*2&a]", "ab"})
    EXPECT_FALSE(has_features(expression, has)) << expression;
}

}  // namespace
}  // namespace pounce::lease
