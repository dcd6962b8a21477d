#include <gtest/gtest.h>

#include "memory/cgroup.h"

namespace pounce::memory {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

RoomFor leaves(std::uint64_t left) {
  return [left](std::uint64_t) { return Room{1000 * kMiB, left}; };
}

TEST(RoomTest, WhatFitsBesideWhatReceivesItIsTaken) {
  EXPECT_TRUE(fits(100 * kMiB, 0, leaves(132 * kMiB)).has_value());
  EXPECT_FALSE(fits(100 * kMiB + 1, 0, leaves(132 * kMiB)).has_value());
}

TEST(RoomTest, WhatIsPromisedToOthersIsNotLeft) {
  EXPECT_TRUE(fits(100 * kMiB, 50 * kMiB, leaves(182 * kMiB)).has_value());
  EXPECT_FALSE(fits(100 * kMiB, 50 * kMiB + 1, leaves(182 * kMiB)).has_value());
}

TEST(RoomTest, WithoutALimitEverythingFits) {
  EXPECT_TRUE(fits(std::uint64_t{1} << 50, 0, {}).has_value());
  EXPECT_TRUE(fits(std::uint64_t{1} << 50, 0, [](std::uint64_t) { return std::nullopt; }).has_value());
}

TEST(RoomTest, ARefusalNamesTheSizeTheLimitAndWhatIsLeft) {
  const auto refused = fits(300 * kMiB, 50 * kMiB, leaves(182 * kMiB));

  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(refused.error().text,
            "an object of 300 MiB does not fit into this job's memory: of 1000 MiB there are 100 MiB left for it");
  EXPECT_EQ(refused.error().context.at("memory_limit_mib"), "1000");
}

TEST(RoomTest, AsksForAsMuchAsItTakesInAll) {
  std::uint64_t asked = 0;
  const auto fitted = fits(100 * kMiB, 50 * kMiB, [&](std::uint64_t wanted) {
    asked = wanted;
    return std::nullopt;
  });

  EXPECT_TRUE(fitted.has_value());
  EXPECT_EQ(asked, 182 * kMiB);
}

}  // namespace
}  // namespace pounce::memory
