// Memory that processes of one user hand each other: a memfd of a fixed size. It is written through the descriptor and never
// mapped for writing while it is filled: the kernel then says when there is no memory, where a mapping would end the
// process, and fresh pages cost half (docs/gotchas.md L1). Thread: any; the bytes belong to one writer until they are whole.
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
  // Of another process. Refused unless its size is fixed: cut short, it would end whoever reads it (SIGBUS).
  static Result<std::unique_ptr<MemoryBlock>> adopt(UniqueFd fd);

  std::size_t capacity() const { return capacity_; }
  int fd() const { return fd_.get(); }
  std::size_t untouched() const;  // bytes of it that have no memory yet

  // Blocks while it copies; large pieces with several threads. kOutOfMemory: nothing may be read of it.
  Result<void> write(std::size_t offset, std::span<const std::byte> bytes);
  // From here on nobody can begin to write it, whoever has it; a view that was there before can. At once, whatever its size.
  bool freeze();
  bool frozen() const;

  // Another process has it now, and may read it for as long as it likes.
  void give_away() { given_away_ = true; }
  bool reusable() const { return !given_away_ && !frozen(); }

 private:
  MemoryBlock(UniqueFd fd, std::size_t capacity) : fd_(std::move(fd)), capacity_(capacity) {}

  UniqueFd fd_;
  std::size_t capacity_;
  bool given_away_ = false;
};

}  // namespace pounce::memory
