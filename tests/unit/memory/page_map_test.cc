#include "memory/page_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "memory/memory_block.h"

namespace pounce::memory {
namespace {

constexpr std::size_t kMib = 1024 * 1024, kPage = 4096;
using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;

class PageMapTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  PageMapTest() {
    const std::string text(GetParam(), 'a');
    EXPECT_TRUE(block_->write(0, std::as_bytes(std::span(text))).has_value());
  }
  Ranges written() {
    Ranges ranges;
    mapped_ = find_written(view_->bytes(), [&](std::size_t offset, std::size_t size) {
      ranges.emplace_back(offset, size);
      return true;
    });
    return ranges;
  }
  void write(std::size_t offset) { view_->bytes()[offset] = std::byte{'w'}; }
  void read_all() { EXPECT_EQ(std::ranges::count(view_->bytes(), std::byte{'z'}), 0); }

  std::shared_ptr<MemoryBlock> block_ = *MemoryBlock::make(GetParam());
  std::shared_ptr<View> view_ = *View::map(block_, GetParam(), Sharing::kPrivate);
  std::optional<std::size_t> mapped_;
};

TEST_P(PageMapTest, FindsThePagesThatWereWritten) {
  read_all();
  write(5 * kPage + 7);
  write(6 * kPage);
  write(kMib);
  EXPECT_EQ(written(), (Ranges{{5 * kPage, 2 * kPage}, {kMib, kPage}}));
}

TEST_P(PageMapTest, CountsWhatIsMappedAndStillTheFiles) {
  EXPECT_TRUE(written().empty());
  EXPECT_EQ(mapped_, 0u);
  read_all();
  EXPECT_TRUE(written().empty());
  EXPECT_EQ(mapped_, GetParam());
}

TEST_P(PageMapTest, FindsManyRanges) {
  read_all();
  for (std::size_t page = 0; page < 400; page += 2) write(page * kPage);
  const auto ranges = written();
  EXPECT_EQ(ranges.size(), 200u);
  EXPECT_EQ(ranges.back().first, 398 * kPage);
}

TEST_P(PageMapTest, EndsWhereItIsToldTo) {
  write(0);
  write(kMib);
  int found = 0;
  EXPECT_FALSE(find_written(view_->bytes(), [&](std::size_t, std::size_t) {
    ++found;
    return false;
  }));
  EXPECT_EQ(found, 1);
}

INSTANTIATE_TEST_SUITE_P(SmallAndHugePages, PageMapTest, ::testing::Values(2 * kMib, 16 * kMib));

}  // namespace
}  // namespace pounce::memory
