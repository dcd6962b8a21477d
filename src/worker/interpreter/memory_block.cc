#include "worker/interpreter/memory_block.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace pounce::worker {
namespace {

constexpr std::size_t kHugePage = 2 * 1024 * 1024;

std::size_t rounded(std::size_t size) { return (size + kHugePage - 1) / kHugePage * kHugePage; }

tl::unexpected<Error> no_memory(std::size_t size) {
  return failure(ErrorCode::kOutOfMemory,
                 "no " + std::to_string(size) + " bytes of shared memory for an object: " + std::strerror(errno));
}

}  // namespace

Result<std::unique_ptr<MemoryBlock>> MemoryBlock::make(std::size_t capacity) {
  UniqueFd fd(::memfd_create("pounce-object", MFD_CLOEXEC));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(capacity)) != 0) return no_memory(capacity);
  void* base = ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return no_memory(capacity);
  ::madvise(base, capacity, MADV_HUGEPAGE);  // helps where the admin set shmem_enabled=advise, else refused
  return std::unique_ptr<MemoryBlock>(new MemoryBlock(std::move(fd), static_cast<std::byte*>(base), capacity));
}

MemoryBlock::~MemoryBlock() { ::munmap(base_, capacity_); }

Result<std::shared_ptr<PrivateView>> PrivateView::map(std::shared_ptr<MemoryBlock> block, std::size_t size) {
  void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, block->fd(), 0);
  if (base == MAP_FAILED) return no_memory(size);
  return std::shared_ptr<PrivateView>(new PrivateView(std::move(block), static_cast<std::byte*>(base), size));
}

PrivateView::~PrivateView() { ::munmap(base_, size_); }

Result<std::shared_ptr<MemoryBlock>> BlockPool::take(std::size_t size) {
  std::unique_ptr<MemoryBlock> block = shelf_->best_fit(size);
  if (!block) {
    auto made = MemoryBlock::make(rounded(size));
    if (!made) return failure(std::move(made.error()));
    block = std::move(*made);
  }
  return std::shared_ptr<MemoryBlock>(block.release(), [shelf = shelf_](MemoryBlock* done) {
    shelf->put_back(std::unique_ptr<MemoryBlock>(done));
  });
}

std::unique_ptr<MemoryBlock> BlockPool::Shelf::best_fit(std::size_t size) {
  const std::lock_guard lock(mutex_);
  auto best = blocks_.end();
  for (auto it = blocks_.begin(); it != blocks_.end(); ++it) {
    const std::size_t capacity = (*it)->capacity();
    if (capacity < size || capacity > 2 * rounded(size)) continue;
    if (best == blocks_.end() || capacity < (*best)->capacity()) best = it;
  }
  if (best == blocks_.end()) return nullptr;
  std::unique_ptr<MemoryBlock> block = std::move(*best);
  blocks_.erase(best);
  kept_ -= block->capacity();
  return block;
}

void BlockPool::Shelf::put_back(std::unique_ptr<MemoryBlock> block) {
  const std::lock_guard lock(mutex_);
  if (kept_ + block->capacity() > keep_bytes_) return;  // unmapped, which frees its pages
  kept_ += block->capacity();
  blocks_.push_back(std::move(block));
}

std::size_t BlockPool::Shelf::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

}  // namespace pounce::worker
