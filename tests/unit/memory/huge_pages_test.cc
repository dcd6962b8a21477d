#include "memory/huge_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/unique_fd.h"
#include "memory/memory_block.h"

namespace pounce::memory {
namespace {

constexpr std::size_t kMib = 1024 * 1024;

class HugePagesTest : public ::testing::Test {
 protected:
  HugePagesTest() { EXPECT_EQ(::ftruncate(memory_.get(), static_cast<off_t>(kSize)), 0); }

  static constexpr std::size_t kSize = 64 * kMib;
  UniqueFd memory_{::memfd_create("test", MFD_CLOEXEC)};
};

TEST_F(HugePagesTest, KeepWhatWasWrittenBefore) {
  const std::string text = "written before";
  ASSERT_EQ(::pwrite(memory_.get(), text.data(), text.size(), 5 * kMib), static_cast<ssize_t>(text.size()));
  if (!make_huge(memory_.get(), 0, kSize))
    GTEST_SKIP() << "this kernel makes no huge pages of shared memory on request";
  std::string read(text.size(), '\0');
  ASSERT_EQ(::pread(memory_.get(), read.data(), read.size(), 5 * kMib), static_cast<ssize_t>(read.size()));
  EXPECT_EQ(read, text);
}

TEST_F(HugePagesTest, TakeFewPageFaults) {
  if (!make_huge(memory_.get(), 0, kSize))
    GTEST_SKIP() << "this kernel makes no huge pages of shared memory on request";
  const auto mapped = map_for_huge_pages(memory_.get(), 0, kSize, MAP_PRIVATE);
  ASSERT_EQ(mapped.size(), kSize);
  rusage before{}, after{};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &before), 0);
  EXPECT_EQ(std::ranges::count(mapped, std::byte{0}), static_cast<std::ptrdiff_t>(kSize));
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &after), 0);
  const long small_pages = static_cast<long>(kSize) / ::sysconf(_SC_PAGESIZE);
  EXPECT_LE(after.ru_minflt - before.ru_minflt, small_pages / 4);  // one each; the kernel may have split some again
  ::munmap(mapped.data(), mapped.size());
}

TEST_F(HugePagesTest, AnAddressForThemIsFoundForAnySize) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, 3 * kMib + 5}) {
    const auto mapped = map_for_huge_pages(memory_.get(), 2 * kMib, size, MAP_SHARED);
    ASSERT_EQ(mapped.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped.data()) % kHugePage, 0u);
    mapped.back() = std::byte{1};
    EXPECT_EQ(::munmap(mapped.data(), mapped.size()), 0);
  }
}

TEST(HugePagesOfABlockTest, WhatIsWrittenInPartsIsWhole) {
  const std::shared_ptr<MemoryBlock> block = *MemoryBlock::make(40 * kMib);
  std::string text(37 * kMib + 3, 'x');
  for (std::size_t i = 0; i < text.size(); i += 4099) text[i] = static_cast<char>(i);
  ASSERT_TRUE(block->write(11, std::as_bytes(std::span(text))).has_value());
  const auto view = *View::map(block, 40 * kMib, Sharing::kPrivate);
  EXPECT_TRUE(std::ranges::equal(view->bytes().subspan(11, text.size()), std::as_bytes(std::span(text))));
}

}  // namespace
}  // namespace pounce::memory
