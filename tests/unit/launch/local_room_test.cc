// What is counted of a machine, and who gets how much of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/local_nodes.h"

namespace pounce::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

Resources asks(std::uint32_t cpus, std::uint32_t gpus = 0, std::uint64_t memory_mib = 0, std::uint32_t workers = 1) {
  Resources resources;
  resources.cpus = cpus, resources.gpus = gpus, resources.memory_mib = memory_mib, resources.workers = workers;
  return resources;
}

const LocalRooms kRoom = {room_of(8, 16384, "2,MIG-7")};

LocalPlaces here(std::vector<std::uint32_t> gpus = {}) { return {{0, std::move(gpus)}}; }

TEST(LocalRoomTest, NamesItsGpusAsCudaDoes) { EXPECT_THAT(kRoom.front().gpus, ElementsAre("2", "MIG-7")); }

TEST(LocalRoomTest, GivesEachGpuToOneAlone) {
  RoomUse used;
  used.add(asks(1, 1), here({0}));
  EXPECT_THAT(fit(kRoom, used, asks(1, 1)), Optional(here({1})));
  used.add(asks(1, 1), here({1}));
  EXPECT_EQ(fit(kRoom, used, asks(1, 1)), std::nullopt);
  EXPECT_TRUE(fit(kRoom, used, asks(1)));
}

TEST(LocalRoomTest, GivesAGpuThatFailedToNobodyAndSaysSo) {
  LocalRooms rooms = kRoom;
  rooms.front().failed_gpus = {0};
  EXPECT_THAT(fit(rooms, {}, asks(1, 1)), Optional(here({1})));
  EXPECT_EQ(fit(rooms, {}, asks(1, 2)), std::nullopt);
  EXPECT_THAT(can_ever_fit(rooms, asks(1, 2)).error().text, HasSubstr("2 GPUs, of which 1 failed, on this node"));
}

TEST(LocalRoomTest, CountsCpusAndMemoryOfAllWorkers) {
  RoomUse used;
  used.add(asks(3, 0, 4096, 2), here());
  EXPECT_TRUE(fit(kRoom, used, asks(2, 0, 8192)));
  EXPECT_FALSE(fit(kRoom, used, asks(3)));
  EXPECT_FALSE(fit(kRoom, used, asks(1, 0, 8193)));
}

TEST(LocalRoomTest, AWorkerThatSaysNothingHasOneCpu) {
  RoomUse used;
  for (int i = 0; i < 8; ++i) used.add(asks(0), here());
  EXPECT_FALSE(fit(kRoom, used, asks(0)));
}

TEST(LocalRoomTest, WithoutACountOfMemoryAnyFits) { EXPECT_TRUE(fit({room_of(1, 0, "")}, {}, asks(1, 0, 1u << 20))); }

TEST(LocalRoomTest, WhatTheEmptyRoomHasNotIsRefusedWithWhatItHas) {
  for (const Resources& asked : {asks(9), asks(1, 3), asks(1, 0, 16385)}) {
    const auto fits = can_ever_fit(kRoom, asked);
    ASSERT_FALSE(fits);
    EXPECT_EQ(fits.error().code, ErrorCode::kUnsatisfiable);
    EXPECT_THAT(fits.error().text, HasSubstr("8 CPUs, 16384 MiB of memory and 2 GPUs"));
  }
  EXPECT_TRUE(can_ever_fit(kRoom, asks(8, 2, 16384)));
}

// ---- several nodes of a job ----

LocalRooms two_nodes() {
  LocalRooms rooms = {room_of(2, 0, "0"), room_of(4, 0, "0,1")};
  rooms[1].node = "g2";
  rooms[1].relative = 1;
  return rooms;
}

Resources on_nodes(std::uint32_t nodes, Resources each = asks(1, 1)) {
  each.nodes = each.workers = nodes;
  return each;
}

TEST(LocalRoomsTest, ALeaseLiesOnThisMachineAsLongAsThereIsRoomAndThenOnAnother) {
  RoomUse used;
  EXPECT_THAT(fit(two_nodes(), used, asks(1, 1)), Optional(LocalPlaces{{0, {0}}}));
  used.add(asks(1, 1), {{0, {0}}});
  EXPECT_THAT(fit(two_nodes(), used, asks(1, 1)), Optional(LocalPlaces{{1, {0}}}));
  used.add(asks(1, 1), {{1, {0}}});
  EXPECT_THAT(fit(two_nodes(), used, asks(1, 1)), Optional(LocalPlaces{{1, {1}}}));
  used.add(asks(1, 1), {{1, {1}}});
  EXPECT_EQ(fit(two_nodes(), used, asks(1, 1)), std::nullopt);
}

TEST(LocalRoomsTest, AGangHasItsShareOfEachNodeOrWaits) {
  RoomUse used;
  EXPECT_THAT(fit(two_nodes(), used, on_nodes(2)), Optional(LocalPlaces{{0, {0}}, {1, {0}}}));
  used.add(asks(1, 1), {{0, {0}}});
  EXPECT_EQ(fit(two_nodes(), used, on_nodes(2)), std::nullopt);
}

TEST(LocalRoomsTest, WhatNoNodeHasIsRefusedWithWhatEachHas) {
  EXPECT_THAT(can_ever_fit(two_nodes(), asks(1, 3)).error().text,
              HasSubstr("2 CPUs and 1 GPUs on this node; 4 CPUs and 2 GPUs on g2"));
  EXPECT_THAT(can_ever_fit(two_nodes(), on_nodes(3)).error().text, HasSubstr("this job has 2 nodes, not 3"));
}

TEST(LocalRoomsTest, ANodeWhereThreeInARowEndedByThemselvesIsLost) {
  LocalRooms rooms = two_nodes();
  rooms[1].accidents = 2;
  EXPECT_TRUE(can_ever_fit(rooms, asks(4)));
  rooms[1].accidents = 3;
  EXPECT_THAT(can_ever_fit(rooms, on_nodes(2)).error().text, HasSubstr("this job has 1 node, not 2"));
  EXPECT_FALSE(can_ever_fit(rooms, asks(4)));
}

}  // namespace
}  // namespace pounce::launch
