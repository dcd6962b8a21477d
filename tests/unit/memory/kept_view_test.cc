#include "memory/kept_view.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "memory/block_pool.h"

namespace pounce::memory {
namespace {

constexpr std::size_t kMib = 1024 * 1024, kSize = 40 * kMib + 100;

std::shared_ptr<MemoryBlock> filled(BlockPool& pool, std::size_t size, char value) {
  const auto block = *pool.take(size);
  const std::string content(size, value);
  EXPECT_TRUE(block->write(0, std::as_bytes(std::span(content))).has_value());
  return block;
}

class KeptViewTest : public ::testing::Test {
 protected:
  std::shared_ptr<View> lent() { return *kept_.lend(block_, kSize); }

  BlockPool pool_{0};
  std::shared_ptr<MemoryBlock> block_ = filled(pool_, kSize, 'a');
  KeptView kept_;
};

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

// One byte of each page.
bool is_all(char value, std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += page_size())
    if (bytes[at] != static_cast<std::byte>(value)) return false;
  return bytes.back() == static_cast<std::byte>(value);
}

long page_faults() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

TEST_F(KeptViewTest, AUseFindsTheBlocksContentWhateverTheOneBeforeHasWritten) {
  const std::string own = "written by a use";
  for (const std::size_t at : {std::size_t{0}, 3 * page_size() - 8, 17 * kMib, kSize - own.size()}) {
    const auto use = lent();
    ASSERT_TRUE(is_all('a', use->bytes())) << at;
    std::memcpy(use->bytes().data() + at, own.data(), own.size());
  }
  {
    const auto use = lent();
    std::ranges::fill(use->bytes(), std::byte{'z'});
  }
  EXPECT_TRUE(is_all('a', lent()->bytes()));
}

TEST_F(KeptViewTest, AUseAfterAnotherCostsNoPageFaults) {
  const long before = page_faults();
  ASSERT_TRUE(is_all('a', lent()->bytes()));
  const long first = page_faults() - before;

  ASSERT_TRUE(is_all('a', lent()->bytes()));

  const long second = page_faults() - before - first;
  EXPECT_GT(first, 8);
  EXPECT_LT(second, first / 4);
}

TEST_F(KeptViewTest, WhatAUseHasWrittenTakesNoMemoryWhenItIsTakenBack) {
  const auto resident = [] {
    std::ifstream file("/proc/self/smaps_rollup");
    for (std::string word; file >> word;)
      if (word == "Anonymous:" && file >> word) return std::stoul(word) * 1024;
    return 0UL;
  };
  std::ranges::fill(lent()->bytes(), std::byte{'z'});
  const std::size_t before = resident();

  KeptView::take_back_writes();

  EXPECT_GT(before - resident(), 30 * kMib);
}

TEST_F(KeptViewTest, TwoUsesAtATimeDoNotSeeEachOther) {
  const auto one = lent(), other = lent();

  one->bytes()[5] = std::byte{'1'};
  other->bytes()[5] = std::byte{'2'};

  EXPECT_EQ(one->bytes()[5], std::byte{'1'});
  EXPECT_EQ(other->bytes()[5], std::byte{'2'});
}

TEST_F(KeptViewTest, AUseOutlivesWhatLentIt) {
  const auto use = lent();
  kept_ = KeptView();
  block_.reset();

  EXPECT_TRUE(is_all('a', use->bytes()));
}

TEST_F(KeptViewTest, AnotherBlockHasAViewOfItsOwn) {
  lent();
  const auto other = filled(pool_, kSize, 'b');

  EXPECT_TRUE(is_all('b', (*kept_.lend(other, kSize))->bytes()));
}

TEST_F(KeptViewTest, WhatTheKernelKeepsInMemoryIsNotUsedAgain) {
  {
    const auto use = lent();
    use->bytes()[0] = std::byte{'z'};
    if (::mlock(use->bytes().data(), page_size()) != 0) GTEST_SKIP() << "no memory may be locked here";
  }
  EXPECT_TRUE(is_all('a', lent()->bytes()));
}

TEST_F(KeptViewTest, CountsWhatNoUseHasAndTheKernelCallsThisProcesssMemory) {
  const std::size_t before = KeptView::unused_bytes();
  ASSERT_TRUE(is_all('a', lent()->bytes()));
  KeptView::take_back_writes();
  EXPECT_GE(KeptView::unused_bytes() - before, kSize);

  auto use = lent();
  EXPECT_EQ(KeptView::unused_bytes(), before);
  use.reset();
  kept_ = KeptView();

  EXPECT_EQ(KeptView::unused_bytes(), before);
}

TEST_F(KeptViewTest, GivesItsBlockBackToThePoolWhenItGoes) {
  BlockPool pool(64 * kMib);
  {
    KeptView kept;
    const auto block = filled(pool, kSize, 'a');
    ASSERT_TRUE(is_all('a', (*kept.lend(block, kSize))->bytes()));
  }
  EXPECT_GE(pool.kept_bytes(), kSize);
}

}  // namespace
}  // namespace pounce::memory
