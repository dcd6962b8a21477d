#include "worker/interpreter/memory_block.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pounce::worker {
namespace {

constexpr std::size_t kMib = 1024 * 1024;

std::shared_ptr<MemoryBlock> filled(BlockPool& pool, std::size_t size, std::byte value) {
  auto block = pool.take(size);
  EXPECT_TRUE(block.has_value());
  std::ranges::fill((*block)->bytes().first(size), value);
  return *block;
}

TEST(MemoryBlockTest, ShowsEachUseTheSameBytesAndNoUseTheWritesOfAnother) {
  BlockPool pool(8 * kMib);
  const auto block = filled(pool, 3 * kMib, std::byte{1});
  const auto first = *PrivateView::map(block, 3 * kMib), second = *PrivateView::map(block, 3 * kMib);
  std::ranges::fill(first->bytes(), std::byte{2});
  EXPECT_EQ(second->bytes().back(), std::byte{1});
  EXPECT_EQ(block->bytes()[0], std::byte{1});
  EXPECT_EQ((*PrivateView::map(block, 3 * kMib))->bytes()[kMib], std::byte{1});
}

TEST(MemoryBlockTest, GivesMemoryToTheNextObjectOnlyWhenNoUseIsLeft) {
  BlockPool pool(8 * kMib);
  auto block = filled(pool, kMib, std::byte{1});
  const std::byte* memory = block->bytes().data();
  auto view = *PrivateView::map(block, kMib);
  block.reset();
  EXPECT_NE(filled(pool, kMib, std::byte{2})->bytes().data(), memory);
  EXPECT_EQ(view->bytes()[0], std::byte{1});
  view.reset();
  const auto again = pool.take(kMib), other = pool.take(kMib);
  EXPECT_TRUE((*again)->bytes().data() == memory || (*other)->bytes().data() == memory);
}

TEST(MemoryBlockTest, KeepsNoMoreThanItMay) {
  BlockPool pool(4 * kMib);
  {
    const auto first = pool.take(3 * kMib), second = pool.take(3 * kMib);
    EXPECT_EQ(pool.kept_bytes(), 0u);
  }
  EXPECT_EQ(pool.kept_bytes(), 4 * kMib);
}

TEST(MemoryBlockTest, DoesNotSpendALargeBlockOnASmallObject) {
  BlockPool pool(64 * kMib);
  filled(pool, 32 * kMib, std::byte{1}).reset();
  EXPECT_EQ((*pool.take(kMib))->capacity(), 2 * kMib);
}

TEST(MemoryBlockTest, OutlivesItsPool) {
  auto pool = std::make_unique<BlockPool>(8 * kMib);
  const auto block = filled(*pool, kMib, std::byte{5});
  pool.reset();
  EXPECT_EQ(block->bytes()[0], std::byte{5});
}

TEST(MemoryBlockTest, SaysOutOfMemoryWhereTheKernelRefuses) {
  BlockPool pool(kMib);
  const auto block = pool.take(std::size_t{1} << 60);
  ASSERT_FALSE(block.has_value());
  EXPECT_EQ(block.error().code, ErrorCode::kOutOfMemory);
}

}  // namespace
}  // namespace pounce::worker
