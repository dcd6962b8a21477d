// Memory that processes of one user hand to each other: a memfd of a fixed size. It is filled through the descriptor
// and never mapped for writing meanwhile. The kernel then reports when there is no memory, where a mapping would end
// the process, and fresh pages cost half (docs/gotchas.md L1). Thread: any; the bytes belong to one writer until they
// are complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce::memory {

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

}  // namespace pounce::memory
