// Memory that processes of one user hand each other: a memfd of a fixed size, the copying into it with several threads,
// and views of it mapped into this process. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "pounce/error.h"

namespace pounce::memory {

// Large pieces of work on memory by several threads at once: one core copies and hashes slower than memory goes. Blocks
// until all is done.

// Calls work(begin, size) for parts that together are [0, size), from up to four threads. Each part but the last is a
// multiple of kPartAlign. False: one call returned false (the others have run too).
constexpr std::size_t kPartAlign = 1024 * 1024;
bool in_parts(std::size_t size, const std::function<bool(std::size_t begin, std::size_t size)>& work);

class View;

// A block is written in place where its huge pages are there already. Else it is written through its descriptor: the
// kernel then says when there is no memory, where a mapping would end the process, and fresh small pages cost half
// (docs/gotchas.md L1). Thread: any; the bytes belong to one writer until they are whole.
class MemoryBlock {
 public:
  static Result<std::unique_ptr<MemoryBlock>> make(std::size_t capacity);
  // Takes a block of another process. Refused unless its size is fixed: a reader of a shortened block would die of
  // SIGBUS.
  static Result<std::unique_ptr<MemoryBlock>> adopt(UniqueFd fd);

  std::size_t capacity() const { return capacity_; }
  int fd() const { return fd_.get(); }
  std::size_t untouched() const;  // bytes without memory yet

  // Blocks while it copies; large pieces use several threads. After kOutOfMemory the content must not be read.
  Result<void> write(std::size_t offset, std::span<const std::byte> bytes);
  // These bytes, mapped, to be written in place: they have their memory, so that writing them cannot fail. Null: use
  // write().
  std::shared_ptr<View> place(std::size_t offset, std::size_t size);
  // From here on no process can begin to write it; a view that was there before still can. Takes no time, whatever
  // its size.
  bool freeze();
  bool frozen() const;

  // A descriptor for another process, which may keep it, map it and fork for any time; the kernel counts its uses apart
  // from ours. Empty: give it fd() itself. The block is not used again then.
  UniqueFd descriptor_to_give();
  void give_away() { given_away_ = true; }
  bool given_away() const { return given_away_; }
  void came_back() { given_away_ = false; }
  // It was made here and no process is left that maps it or holds a descriptor that we gave away: the kernel's word.
  // Forked children of this process are not counted.
  bool ours_alone() const;
  bool reusable() const { return !adopted_ && !frozen() && (!given_away_ || counts_uses_); }

 private:
  enum class From : std::uint8_t { kMadeHere, kAnotherProcess };
  MemoryBlock(UniqueFd fd, std::size_t capacity, From from, bool counts_uses);
  bool has_huge_pages(std::size_t offset, std::size_t size);

  UniqueFd fd_;
  const std::size_t capacity_;
  const bool adopted_;
  bool counts_uses_, given_away_ = false;
  std::mutex mutex_;        // guards those below
  std::vector<bool> huge_;  // which of its huge pages are there
  bool refused_ = false;    // the kernel had no huge page for it
  bool too_slow_ = false;   // no more of them are made
};

// A block mapped into this process. A private view is one use by one task: writable, copy-on-write, isolated from every
// other use, without a copy. A shared view is the block itself: of the one process that has it.
enum class Sharing : std::uint8_t { kPrivate, kShared };

class View {
 public:
  static Result<std::shared_ptr<View>> map(std::shared_ptr<MemoryBlock> block, std::size_t size, Sharing sharing);
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  std::span<std::byte> bytes() const { return mapped_.subspan(before_); }
  const std::shared_ptr<MemoryBlock>& block() const { return block_; }
  // Closes its descriptor: the bytes stay, and the block has no owner any more.
  void let_go_of_block() { block_.reset(); }

 private:
  friend class MemoryBlock;
  View(std::shared_ptr<MemoryBlock> block, std::span<std::byte> mapped, std::size_t before)
      : block_(std::move(block)), mapped_(mapped), before_(before) {}
  std::shared_ptr<MemoryBlock> block_;  // so that the block is not reused while the view exists
  std::span<std::byte> mapped_;         // from the beginning of a huge page
  std::size_t before_;                  // bytes there that are not the view's
};

}  // namespace pounce::memory
