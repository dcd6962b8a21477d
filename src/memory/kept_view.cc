#include "memory/kept_view.h"

#include <sys/mman.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "memory/page_map.h"

namespace pounce::memory {
namespace {

// Takes back what was written into the view: the block's own content is there then. Returns how many of its bytes are
// mapped then; nothing: the view cannot be used again, as one that is locked in memory.
std::optional<std::size_t> taken_back(std::span<std::byte> bytes) {
  return find_written(bytes, [&](std::size_t offset, std::size_t size) {
    return ::madvise(bytes.data() + offset, size, MADV_DONTNEED) == 0;
  });
}

std::atomic<std::size_t> unused = 0;

}  // namespace

// Those whose view has come back as its use left it.
class KeptView::Written {
 public:
  static void add(const std::shared_ptr<Place>& place) {
    const std::scoped_lock lock(mutex_);
    places_.push_back(place);
    any_ = true;
  }
  static std::vector<std::weak_ptr<Place>> take_all() {
    if (!any_) return {};
    const std::scoped_lock lock(mutex_);
    any_ = false;
    return std::exchange(places_, {});
  }

 private:
  static inline std::mutex mutex_;  // guards the next one
  static inline std::vector<std::weak_ptr<Place>> places_;
  static inline std::atomic<bool> any_ = false;
};

struct KeptView::Place {
  std::mutex mutex;  // guards the others
  std::shared_ptr<View> view;
  bool is_written = false;  // as a use has left it
  std::size_t counted = 0;  // of `unused`

  ~Place() { unused -= counted; }

  std::shared_ptr<View> take(const std::shared_ptr<MemoryBlock>& block, std::size_t size) {
    take_back();
    const std::scoped_lock lock(mutex);
    if (!view || view->block() != block || view->bytes().size() != size) return {};
    unused -= std::exchange(counted, 0);
    return std::exchange(view, {});
  }

  // False: another use's is here already, and this one is not kept.
  bool put_back(std::shared_ptr<View> used) {
    const std::scoped_lock lock(mutex);
    if (view) return false;
    view = std::move(used);
    return is_written = true;
  }

  void take_back() {
    const std::scoped_lock lock(mutex);
    if (!view || !std::exchange(is_written, false)) return;
    if (const auto mapped = taken_back(view->bytes()))
      unused += counted = *mapped;
    else
      view.reset();
  }
};

std::shared_ptr<KeptView::Place> KeptView::make_place() { return std::make_shared<Place>(); }

Result<std::shared_ptr<View>> KeptView::lend(const std::shared_ptr<MemoryBlock>& block, std::size_t size) const {
  if (size < kWorthKeeping) return View::map(block, size, Sharing::kPrivate);
  std::shared_ptr<View> view = place_->take(block, size);
  if (!view) {
    auto made = View::map(block, size, Sharing::kPrivate);
    if (!made) return made;
    view = std::move(*made);
  }
  View* const lent = view.get();
  return std::shared_ptr<View>(lent, [view = std::move(view), place = std::weak_ptr(place_)](View*) mutable {
    const auto kept = place.lock();
    if (kept && kept->put_back(std::move(view))) Written::add(kept);
  });
}

void KeptView::take_back_writes() {
  for (const auto& place : Written::take_all())
    if (const auto kept = place.lock()) kept->take_back();
}

std::size_t KeptView::unused_bytes() { return unused; }

}  // namespace pounce::memory
