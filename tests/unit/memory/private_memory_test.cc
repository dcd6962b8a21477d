#include "memory/private_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace pounce::memory {
namespace {

using std::chrono::seconds;

constexpr std::size_t kMib = 1024 * 1024;

class WarmMemoryTest : public ::testing::Test {
 protected:
  WarmMemoryTest() { WarmMemory::give_back_all(); }
};

TEST_F(WarmMemoryTest, WhatNoHolderIsLeftOfIsUsedAgain) {
  const std::byte* const first = WarmMemory::take(16 * kMib).bytes.data();
  EXPECT_EQ(WarmMemory::kept_bytes(), 16 * kMib);
  const auto again = WarmMemory::take(15 * kMib);
  EXPECT_EQ(again.bytes.data(), first);
  EXPECT_EQ(again.size(), 15 * kMib);
  EXPECT_EQ(WarmMemory::kept_bytes(), 0u);
}

TEST_F(WarmMemoryTest, NothingIsUsedAgainWhileAnyPartOfItIsHeld) {
  auto whole = WarmMemory::take(16 * kMib);
  whole.bytes[5] = std::byte{'a'};
  const std::shared_ptr<const void> part = whole.keep;
  whole = {};
  const auto other = WarmMemory::take(16 * kMib);
  std::ranges::fill(other.bytes, std::byte{'b'});
  EXPECT_EQ(static_cast<const std::byte*>(part.get())[5], std::byte{'a'});
}

TEST_F(WarmMemoryTest, AForkedChildKeepsWhatItHad) {
  auto had = WarmMemory::take(16 * kMib);
  std::ranges::fill(had.bytes, std::byte{'a'});
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char word;
    ::_exit(::read(go[0], &word, 1) == 1 &&
                    std::ranges::all_of(had.bytes, [](std::byte one) { return one == std::byte{'a'}; })
                ? 0
                : 1);
  }
  had = {};
  std::ranges::fill(WarmMemory::take(16 * kMib).bytes, std::byte{'b'});
  ASSERT_EQ(::write(go[1], "g", 1), 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(WarmMemoryTest, ASmallPieceIsNotKept) {
  WarmMemory::take(kMib);
  EXPECT_EQ(WarmMemory::kept_bytes(), 0u);
}

TEST_F(WarmMemoryTest, ALargePieceIsNotSpentOnASmallOne) {
  WarmMemory::take(64 * kMib);
  const auto small = WarmMemory::take(16 * kMib);
  EXPECT_EQ(WarmMemory::kept_bytes(), 64 * kMib);
}

TEST_F(WarmMemoryTest, IsGivenBackAfterAMinuteWithoutUse) {
  EXPECT_EQ(WarmMemory::next_deadline(), TimePoint::max());
  WarmMemory::take(16 * kMib);
  const TimePoint now = Clock::now();
  EXPECT_LE(WarmMemory::next_deadline(), now + seconds(2));
  WarmMemory::give_back(now + seconds(58));
  EXPECT_EQ(WarmMemory::kept_bytes(), 16 * kMib);
  WarmMemory::give_back(now + seconds(61));
  EXPECT_EQ(WarmMemory::kept_bytes(), 0u);
}

}  // namespace
}  // namespace pounce::memory
