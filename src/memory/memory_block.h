// Memory that processes of one user hand each other: a memfd of a fixed size, the copying into it with several threads,
// and views of it mapped into this process. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/unique_fd.h"
#include "pounce/error.h"

namespace pounce::memory {

// Large pieces of work on memory by several threads at once: one core copies and hashes slower than memory goes. Blocks
// until all is done.

// Calls work(begin, size) for parts that together are [0, size), from up to four threads. Each part but the last is a
// multiple of kPartAlign. False: one call returned false (the others have run too).
constexpr std::size_t kPartAlign = 1024 * 1024;
bool in_parts(std::size_t size, const std::function<bool(std::size_t begin, std::size_t size)>& work);

// A block is written through its descriptor and never mapped for writing while it is filled: the kernel then says when
// there is no memory, where a mapping would end the process, and fresh pages cost half (docs/gotchas.md L1). Thread:
// any; the bytes belong to one writer until they are whole.
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
  // From here on no process can begin to write it; a view that was there before still can. Takes no time, whatever
  // its size.
  bool freeze();
  bool frozen() const;

  // Another process has it now, and may read it for any time.
  void give_away() { given_away_ = true; }
  bool reusable() const { return !given_away_ && !frozen(); }

 private:
  MemoryBlock(UniqueFd fd, std::size_t capacity) : fd_(std::move(fd)), capacity_(capacity) {}

  UniqueFd fd_;
  std::size_t capacity_;
  bool given_away_ = false;
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

  std::span<std::byte> bytes() const { return {base_, size_}; }
  const std::shared_ptr<MemoryBlock>& block() const { return block_; }
  // Closes its descriptor: the bytes stay, and the block has no owner any more.
  void let_go_of_block() { block_.reset(); }

 private:
  View(std::shared_ptr<MemoryBlock> block, std::byte* base, std::size_t size)
      : block_(std::move(block)), base_(base), size_(size) {}
  std::shared_ptr<MemoryBlock> block_;  // so that the block is not reused while the view exists
  std::byte* base_;
  std::size_t size_;
};

}  // namespace pounce::memory
