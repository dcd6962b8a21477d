#include "memory/block_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace pounce::memory {
namespace {

using std::chrono::seconds;

constexpr std::size_t kMib = 1024 * 1024;

// Which memory it is, whichever descriptor shows it.
ino_t memory_of(const MemoryBlock& block) {
  struct stat facts{};
  EXPECT_EQ(::fstat(block.fd(), &facts), 0);
  return facts.st_ino;
}

// A block that was given to another holder, as one that a process of this machine was sent.
class BlockPoolTest : public ::testing::Test {
 protected:
  std::shared_ptr<MemoryBlock> give_one_away(std::size_t size = 2 * kMib) {
    const auto block = *pool_.take(size);
    const std::string text(size, 'a');
    EXPECT_TRUE(block->write(0, std::as_bytes(std::span(text))).has_value());
    memory_ = memory_of(*block);
    auto theirs = MemoryBlock::adopt(block->descriptor_to_give());
    EXPECT_TRUE(theirs.has_value());
    block->give_away();
    return std::move(*theirs);
  }
  bool is_used_again() {
    std::vector<std::shared_ptr<MemoryBlock>> taken;
    for (std::size_t kept = pool_.kept_bytes() + 1; kept != pool_.kept_bytes();) {  // until a new one is made
      kept = pool_.kept_bytes();
      taken.push_back(*pool_.take(2 * kMib));
      if (memory_of(*taken.back()) == memory_) return true;
    }
    return false;
  }

  BlockPool pool_{64 * kMib};
  ino_t memory_ = 0;
};

TEST_F(BlockPoolTest, WhatAnotherHolderLetGoOfIsUsedAgain) {
  give_one_away().reset();
  EXPECT_TRUE(is_used_again());
  EXPECT_TRUE(is_used_again()) << "also a second time";
}

TEST_F(BlockPoolTest, NothingIsUsedAgainWhileADescriptorOfItIsOpen) {
  const auto theirs = give_one_away();
  EXPECT_FALSE(is_used_again());
}

TEST_F(BlockPoolTest, NothingIsUsedAgainWhileItIsMapped) {
  auto view = *View::map(give_one_away(), 2 * kMib, Sharing::kPrivate);
  view->let_go_of_block();
  EXPECT_FALSE(is_used_again());
  EXPECT_EQ(view->bytes().back(), std::byte{'a'});
  view.reset();
  EXPECT_TRUE(is_used_again());
}

// A reader's child holds what its parent has let go of.
TEST_F(BlockPoolTest, NothingIsUsedAgainWhileAChildOfItsReaderHasIt) {
  auto theirs = give_one_away();
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  theirs.reset();
  EXPECT_FALSE(is_used_again());
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(is_used_again());
}

TEST_F(BlockPoolTest, WhatCameFromAnotherProcessIsNotKept) {
  const std::shared_ptr<MemoryBlock> theirs = give_one_away();
  EXPECT_FALSE(theirs->reusable()) << "its maker keeps it";
}

TEST_F(BlockPoolTest, WhatWasPassedOnWithoutACountOfItsOwnIsNotKept) {
  const auto block = *pool_.take(2 * kMib);
  ASSERT_TRUE(block->freeze());
  EXPECT_FALSE(block->descriptor_to_give());
  EXPECT_FALSE(block->reusable());
}

TEST_F(BlockPoolTest, GivesBackWhatWasUnusedForAMinute) {
  give_one_away().reset();
  const TimePoint now = Clock::now();
  EXPECT_LE(pool_.next_deadline(), now + seconds(2));
  pool_.give_back(now + seconds(3));
  EXPECT_EQ(pool_.kept_bytes(), 2 * kMib) << "just seen to be unused";
  pool_.give_back(now + seconds(62));
  EXPECT_EQ(pool_.kept_bytes(), 2 * kMib);
  pool_.give_back(now + seconds(65));
  EXPECT_EQ(pool_.kept_bytes(), 0u);
  EXPECT_EQ(pool_.next_deadline(), TimePoint::max()) << "no wake-up for nothing";
}

TEST_F(BlockPoolTest, KeepsWhatAnotherHolderHasForAnyTime) {
  auto theirs = give_one_away();
  pool_.give_back(Clock::now() + seconds(1000));
  theirs.reset();
  EXPECT_TRUE(is_used_again());
}

TEST(ArenaTest, IsGivenBackAsSoonAsLessThanItIsFreeBesideIt) {
  std::uint64_t left = 8 * kMib;
  BlockPool pool(64 * kMib, {}, [&] { return left; });
  pool.take(2 * kMib)->reset();
  pool.take(4 * kMib)->reset();
  {
    const auto first = pool.take(2 * kMib), second = pool.take(4 * kMib);
  }
  ASSERT_EQ(pool.kept_bytes(), 6 * kMib);
  pool.give_back(Clock::now() + seconds(3));
  EXPECT_EQ(pool.kept_bytes(), 6 * kMib);
  left = 4 * kMib;
  pool.give_back(Clock::now() + seconds(6));
  EXPECT_EQ(pool.kept_bytes(), 2 * kMib) << "the one that was unused for longest is enough";
  left = kMib;
  pool.give_back(Clock::now() + seconds(9));
  EXPECT_EQ(pool.kept_bytes(), 0u);
}

TEST(ArenaTest, KeepsTheLastUsedWhereThereIsNoRoomForAll) {
  BlockPool pool(4 * kMib);
  ino_t last = 0;
  {
    auto first = *pool.take(4 * kMib), second = *pool.take(4 * kMib);
    last = memory_of(*second);
    first.reset();
  }
  EXPECT_EQ(pool.kept_bytes(), 4 * kMib);
  EXPECT_EQ(memory_of(**pool.take(4 * kMib)), last);
}

TEST(PlacesTest, APieceIsReceivedWhereItStays) {
  BlockPool pool(0);
  const std::shared_ptr<MemoryBlock> block = *pool.take(16 * kMib);
  const PlaceAt place = places_in(block, 64);
  const auto piece = place(5 * kMib, 3 * kMib);
  if (piece.bytes.empty()) GTEST_SKIP() << "this kernel makes no huge pages of shared memory on request";
  ASSERT_EQ(piece.size(), 3 * kMib);
  std::ranges::fill(piece.bytes, std::byte{'p'});
  const auto view = *View::map(block, 16 * kMib, Sharing::kPrivate);
  EXPECT_EQ(std::ranges::count(view->bytes(), std::byte{'p'}), static_cast<std::ptrdiff_t>(3 * kMib));
  EXPECT_EQ(view->bytes()[5 * kMib + 64], std::byte{'p'});
}

TEST(PlacesTest, ASmallBlockHasNone) {
  BlockPool pool(0);
  EXPECT_TRUE(places_in(*pool.take(kMib), 0)(0, kMib).bytes.empty()) << "a huge page would be wasted on it";
}

}  // namespace
}  // namespace pounce::memory
