#include "memory/view.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace pounce::memory {

Result<std::shared_ptr<View>> View::map(std::shared_ptr<MemoryBlock> block, std::size_t size, Sharing sharing) {
  const int flags = sharing == Sharing::kPrivate ? MAP_PRIVATE : MAP_SHARED;
  void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, block->fd(), 0);
  if (base == MAP_FAILED)
    return failure(ErrorCode::kOutOfMemory, "no room for " + std::to_string(size) + " bytes of an object: " + std::strerror(errno));
  return std::shared_ptr<View>(new View(std::move(block), static_cast<std::byte*>(base), size));
}

View::~View() { ::munmap(base_, size_); }

}  // namespace pounce::memory
