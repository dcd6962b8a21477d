// What is counted of a machine, and who gets how much of it.
#include "launch/local_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

const LocalRoom kRoom = room_of(8, 16384, "2,MIG-7");

TEST(LocalRoomTest, NamesItsGpusAsCudaDoes) { EXPECT_THAT(kRoom.gpus, ElementsAre("2", "MIG-7")); }

TEST(LocalRoomTest, GivesEachGpuToOneAlone) {
  RoomUse used;
  used.add(asks(1, 1), {0});
  EXPECT_THAT(fit(kRoom, used, asks(1, 1)), Optional(ElementsAre(1)));
  used.add(asks(1, 1), {1});
  EXPECT_EQ(fit(kRoom, used, asks(1, 1)), std::nullopt);
  EXPECT_TRUE(fit(kRoom, used, asks(1)));
}

TEST(LocalRoomTest, CountsCpusAndMemoryOfAllWorkers) {
  RoomUse used;
  used.add(asks(3, 0, 4096, 2), {});
  EXPECT_TRUE(fit(kRoom, used, asks(2, 0, 8192)));
  EXPECT_FALSE(fit(kRoom, used, asks(3)));
  EXPECT_FALSE(fit(kRoom, used, asks(1, 0, 8193)));
}

TEST(LocalRoomTest, AWorkerThatSaysNothingHasOneCpu) {
  RoomUse used;
  for (int i = 0; i < 8; ++i) used.add(asks(0), {});
  EXPECT_FALSE(fit(kRoom, used, asks(0)));
}

TEST(LocalRoomTest, WithoutACountOfMemoryAnyFits) { EXPECT_TRUE(fit(room_of(1, 0, ""), {}, asks(1, 0, 1u << 20))); }

TEST(LocalRoomTest, WhatTheEmptyRoomHasNotIsRefusedWithWhatItHas) {
  for (const Resources& asked : {asks(9), asks(1, 3), asks(1, 0, 16385)}) {
    const auto fits = can_ever_fit(kRoom, asked);
    ASSERT_FALSE(fits);
    EXPECT_EQ(fits.error().code, ErrorCode::kUnsatisfiable);
    EXPECT_THAT(fits.error().text, HasSubstr("8 CPUs, 16384 MiB of memory and 2 GPUs"));
  }
  EXPECT_TRUE(can_ever_fit(kRoom, asks(8, 2, 16384)));
}

}  // namespace
}  // namespace pounce::launch
