#include "memory/private_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "memory/cgroup.h"
#include "memory/huge_pages.h"
#include "memory/keep_times.h"

namespace pounce::memory {
namespace {

constexpr std::size_t kWorthKeeping = 8 * 1024 * 1024;  // less is cleared within a millisecond
constexpr std::size_t kMostRegions = 16;

struct Region {
  std::byte* base = nullptr;
  std::size_t size = 0;
  void unmap() const { ::munmap(base, size); }
};

Region mapped(std::size_t size) {
  void* const base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  if (size >= kHugePage) ::madvise(base, size, MADV_HUGEPAGE);  // a hint: it works without
  return {static_cast<std::byte*>(base), size};
}

}  // namespace

WritableBytes private_memory(std::size_t size) {
  if (size == 0) return {};
  const Region made = mapped(size);
  return {{made.base, size}, std::shared_ptr<void>(made.base, [made](void*) { made.unmap(); })};
}

class WarmMemory::Shelf {
 public:
  Region take(std::size_t size) {
    const std::scoped_lock lock(mutex_);
    auto best = kept_.end();
    for (auto it = kept_.begin(); it != kept_.end(); ++it)
      if (it->region.size >= size && it->region.size <= size + size / 4 &&
          (best == kept_.end() || it->region.size <= best->region.size))
        best = it;
    if (best == kept_.end()) return {};
    const Region found = best->region;
    kept_.erase(best);
    bytes_ -= found.size;
    return found;
  }

  // A forked child may find the lock held by a thread that it does not have.
  void put_back(const Region& region) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || region.size > most_) return region.unmap();
    while (bytes_ + region.size > most_ || kept_.size() == kMostRegions) drop(kept_.begin());
    if (kept_.empty()) looked_at_ = Clock::now();
    kept_.push_back({region, Clock::now()});
    bytes_ += region.size;
  }

  void give_back(TimePoint now) {
    const std::scoped_lock lock(mutex_);
    if (kept_.empty() || now < looked_at_ + kBetweenLooks) return;
    looked_at_ = now;
    while (!kept_.empty() && (now >= kept_.front().since + kKeptWithoutUse || bytes_ > free_memory()))
      drop(kept_.begin());
  }

  TimePoint next_deadline() const {
    const std::scoped_lock lock(mutex_);
    return kept_.empty() ? TimePoint::max() : looked_at_ + kBetweenLooks;
  }

  void clear() {
    const std::scoped_lock lock(mutex_);
    while (!kept_.empty()) drop(kept_.begin());
  }

  std::size_t bytes() const {
    const std::scoped_lock lock(mutex_);
    return bytes_;
  }

 private:
  struct Kept {
    Region region;
    TimePoint since;
  };
  using Place = std::vector<Kept>::iterator;
  void drop(Place place) {
    place->region.unmap();
    bytes_ -= place->region.size;
    kept_.erase(place);
  }

  const std::size_t most_ = memory_to_keep() / 2;
  mutable std::mutex mutex_;  // guards those below; only the kernel is called under it
  std::vector<Kept> kept_;    // the one that came back last is the last
  std::size_t bytes_ = 0;
  TimePoint looked_at_{};
};

// Never destroyed: an array may die when main() has returned.
WarmMemory::Shelf& WarmMemory::shelf() {
  static auto* const shelf = new Shelf;
  return *shelf;
}

WritableBytes WarmMemory::take(std::size_t size) {
  if (size < kWorthKeeping) return private_memory(size);
  Region region = shelf().take(size);
  if (region.base == nullptr) region = mapped(std::max(size, in_huge_pages(size)));  // a size that wraps fails there
  return {{region.base, size}, std::shared_ptr<void>(region.base, [region](void*) { shelf().put_back(region); })};
}

std::size_t WarmMemory::kept_bytes() { return shelf().bytes(); }
void WarmMemory::give_back(TimePoint now) { shelf().give_back(now); }
TimePoint WarmMemory::next_deadline() { return shelf().next_deadline(); }
void WarmMemory::give_back_all() { shelf().clear(); }

}  // namespace pounce::memory
