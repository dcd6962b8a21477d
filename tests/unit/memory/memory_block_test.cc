#include "memory/memory_block.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "memory/block_pool.h"
#include "support/file_limit.h"

namespace pounce::memory {
namespace {

constexpr std::size_t kMib = 1024 * 1024;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string text_of(const std::shared_ptr<MemoryBlock>& block, std::size_t offset, std::size_t size) {
  const auto view = *View::map(block, block->capacity(), Sharing::kPrivate);
  return {reinterpret_cast<const char*>(view->bytes().data()) + offset, size};
}

std::shared_ptr<MemoryBlock> filled(BlockPool& pool, std::size_t size, char value) {
  auto block = pool.take(size);
  EXPECT_TRUE(block.has_value());
  EXPECT_TRUE((*block)->write(0, bytes_of(std::string(size, value))).has_value());
  return *block;
}

UniqueFd descriptor_of(const MemoryBlock& block) { return UniqueFd(::fcntl(block.fd(), F_DUPFD_CLOEXEC, 0)); }

TEST(MemoryBlockTest, ShowsEachUseTheSameBytesAndNoUseTheWritesOfAnother) {
  BlockPool pool(8 * kMib);
  const auto block = filled(pool, 3 * kMib, 'a');
  const auto first = *View::map(block, 3 * kMib, Sharing::kPrivate),
             second = *View::map(block, 3 * kMib, Sharing::kPrivate);
  std::ranges::fill(first->bytes(), std::byte{2});
  EXPECT_EQ(second->bytes().back(), std::byte{'a'});
  EXPECT_EQ(text_of(block, kMib, 1), "a");
}

TEST(MemoryBlockTest, ASharedViewIsTheBlockItself) {
  BlockPool pool(8 * kMib);
  const auto block = filled(pool, kMib, 'a');
  (*View::map(block, kMib, Sharing::kShared))->bytes()[0] = std::byte{'b'};
  EXPECT_EQ(text_of(block, 0, 2), "ba");
}

TEST(MemoryBlockTest, AFrozenOneIsReadOnlyForWhoeverGetsIt) {
  BlockPool pool(8 * kMib);
  const auto block = filled(pool, kMib, 'a');
  const auto before = *View::map(block, kMib, Sharing::kShared);
  EXPECT_TRUE(block->freeze());
  const std::shared_ptr<MemoryBlock> there = *MemoryBlock::adopt(descriptor_of(*block));
  EXPECT_TRUE(there->frozen());
  EXPECT_FALSE(there->write(0, bytes_of("b")).has_value());
  EXPECT_FALSE(View::map(there, kMib, Sharing::kShared).has_value());
  (*View::map(there, kMib, Sharing::kPrivate))->bytes()[0] = std::byte{'c'};
  EXPECT_EQ(text_of(block, 0, 1), "a");
}

TEST(MemoryBlockTest, WritesALargePieceWholeWhateverTheNumberOfThreads) {
  BlockPool pool(0);
  std::string bytes(37 * kMib + 5, ' ');
  for (std::size_t i = 0; i < bytes.size(); i += 4096) bytes[i] = static_cast<char>('a' + i / kMib % 26);
  const auto block = *pool.take(bytes.size() + 3);
  ASSERT_TRUE(block->write(3, bytes_of(bytes)).has_value());
  EXPECT_EQ(text_of(block, 3, bytes.size()), bytes);
}

TEST(MemoryBlockTest, PartsCoverAllOfItOnceAndOneThatFailsIsTold) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, 16 * kMib, 100 * kMib + 1}) {
    std::atomic<std::size_t> sum = 0;
    EXPECT_TRUE(in_parts(size, [&](std::size_t, std::size_t part) {
      sum += part;
      return true;
    }));
    EXPECT_EQ(sum, size);
  }
  EXPECT_FALSE(in_parts(64 * kMib, [&](std::size_t begin, std::size_t) { return begin == 0; }));
}

TEST(MemoryBlockTest, OfAnotherProcessIsTakenOnlyIfItsSizeIsFixed) {
  const auto block = *MemoryBlock::make(2 * kMib);
  const auto adopted = MemoryBlock::adopt(descriptor_of(*block));
  ASSERT_TRUE(adopted.has_value());
  EXPECT_EQ((*adopted)->capacity(), 2 * kMib);
  UniqueFd growing(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(MemoryBlock::adopt(std::move(growing)).error().code, ErrorCode::kProtocol);
  EXPECT_FALSE(MemoryBlock::adopt(UniqueFd(::open("/dev/zero", O_RDWR | O_CLOEXEC))).has_value());
}

TEST(MemoryBlockTest, GivesMemoryToTheNextObjectOnlyWhenNoUseIsLeft) {
  BlockPool pool(8 * kMib);
  auto block = filled(pool, kMib, 'a');
  const int memory = block->fd();
  auto view = *View::map(block, kMib, Sharing::kPrivate);
  block.reset();
  EXPECT_NE(filled(pool, kMib, 'b')->fd(), memory);
  EXPECT_EQ(view->bytes()[0], std::byte{'a'});
  view.reset();
  const auto again = pool.take(kMib), other = pool.take(kMib);
  EXPECT_TRUE((*again)->fd() == memory || (*other)->fd() == memory);
}

TEST(MemoryBlockTest, AFrozenOneIsNotKept) {
  BlockPool pool(8 * kMib);
  EXPECT_TRUE(filled(pool, kMib, 'a')->freeze());
  EXPECT_EQ(pool.kept_bytes(), 0u);
}

// The child has what its parent had mapped: written anew it would change under the child.
TEST(MemoryBlockTest, IsNotKeptAfterAFork) {
  BlockPool pool(8 * kMib);
  auto block = filled(pool, kMib, 'a');
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  block.reset();
  EXPECT_EQ(pool.kept_bytes(), 0u);
  filled(pool, kMib, 'b').reset();
  EXPECT_EQ(pool.kept_bytes(), 2 * kMib);
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
  filled(pool, 32 * kMib, 'a').reset();
  EXPECT_EQ((*pool.take(kMib))->capacity(), 2 * kMib);
}

TEST(MemoryBlockTest, WhatIsKeptMakesRoomForWhatDoesNotFitBesideIt) {
  BlockPool pool(8 * kMib, [&pool](std::uint64_t) {
    return pool.kept_bytes() > 0 ? failure(ErrorCode::kOutOfMemory, "no room") : Result<void>{};
  });
  filled(pool, 2 * kMib, 'a').reset();
  ASSERT_EQ(pool.kept_bytes(), 2 * kMib);

  const auto taken = pool.take(8 * kMib);

  EXPECT_TRUE(taken.has_value());
  EXPECT_EQ(pool.kept_bytes(), 0u);
}

TEST(MemoryBlockTest, WhatDoesNotFitIsRefused) {
  BlockPool pool(8 * kMib, [](std::uint64_t) { return failure(ErrorCode::kOutOfMemory, "no room"); });
  EXPECT_EQ(pool.take(kMib).error().text, "no room");
}

TEST(MemoryBlockTest, KnowsHowMuchOfItHasNoMemoryYet) {
  const auto block = *MemoryBlock::make(2 * kMib);
  EXPECT_EQ(block->untouched(), 2 * kMib);
  ASSERT_TRUE(block->write(0, bytes_of(std::string(kMib, 'a'))).has_value());
  EXPECT_EQ(block->untouched(), kMib);
}

TEST(MemoryBlockTest, OutlivesItsPool) {
  auto pool = std::make_unique<BlockPool>(8 * kMib);
  const auto block = filled(*pool, kMib, 'e');
  pool.reset();
  EXPECT_EQ(text_of(block, 0, 1), "e");
}

// Where the kernel was asked for it, SIGXFSZ would end this program.
TEST(MemoryBlockTest, MoreThanAFileMayHaveIsAnErrorAndNoSignal) {
  const FileLimit small(kMib);

  const auto block = MemoryBlock::make(2 * kMib);

  ASSERT_FALSE(block.has_value());
  EXPECT_EQ(block.error().code, ErrorCode::kOutOfMemory);
  EXPECT_NE(block.error().text.find("File too large"), std::string::npos) << block.error().text;
}

TEST(MemoryBlockTest, ALimitThatIsLoweredWhileItIsFilledIsAnErrorAndNoSignal) {
  const auto block = *MemoryBlock::make(2 * kMib);
  const std::string half(kMib, 'a');
  ASSERT_TRUE(block->write(0, bytes_of(half)).has_value());
  const FileLimit small(kMib);

  const auto written = block->write(kMib, bytes_of(half));

  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::kOutOfMemory);
  EXPECT_NE(written.error().text.find("File too large"), std::string::npos) << written.error().text;
}

TEST(MemoryBlockTest, SaysOutOfMemoryWhereTheKernelRefuses) {
  BlockPool pool(kMib);
  const auto block = pool.take(std::size_t{1} << 60);
  ASSERT_FALSE(block.has_value());
  EXPECT_EQ(block.error().code, ErrorCode::kOutOfMemory);
}

TEST(PackingTest, PutsPiecesBehindEachOtherInSteps) {
  BlockPool pool(0);
  const std::string large(70 * kMib, 'l'), small = "small", empty;
  auto packing = *Packing::begin(pool, {bytes_of(empty), bytes_of(large), bytes_of(small), bytes_of(empty)});
  int steps = 0;
  for (; !packing.whole(); ++steps) ASSERT_TRUE(packing.step().has_value());
  EXPECT_GT(steps, 1) << "whoever copies has something else to do meanwhile";
  ASSERT_EQ(packing.places().size(), 4u);
  EXPECT_EQ(text_of(packing.block(), packing.places()[1], large.size()), large);
  EXPECT_EQ(text_of(packing.block(), packing.places()[2], small.size()), small);
  for (const std::uint64_t place : packing.places()) EXPECT_EQ(place % 64, 0u);
}

}  // namespace
}  // namespace pounce::memory
