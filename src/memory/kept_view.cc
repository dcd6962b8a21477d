#include "memory/kept_view.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace pounce::memory {
namespace {

// man 5 proc, /proc/pid/pagemap: 64 bits for each page. A page in memory or in swap that is of no file is a copy that
// was made for a write.
constexpr std::uint64_t kOfFile = 1ULL << 61, kInSwap = 1ULL << 62, kInMemory = 1ULL << 63;
constexpr std::size_t kPagesAtOnce = 4096;

bool is_written(std::uint64_t page) { return (page & (kInMemory | kInSwap)) != 0 && (page & kOfFile) == 0; }

// The pages' own content, as the block has it. False: the kernel refuses, as for locked memory.
bool forget_writes(std::byte* base, std::span<const std::uint64_t> pages, std::size_t page_size) {
  for (auto at = pages.begin(); at != pages.end();) {
    const auto first = std::find_if(at, pages.end(), is_written);
    at = std::find_if_not(first, pages.end(), is_written);
    const auto offset = static_cast<std::size_t>(first - pages.begin()) * page_size;
    const auto size = static_cast<std::size_t>(at - first) * page_size;
    if (size > 0 && ::madvise(base + offset, size, MADV_DONTNEED) != 0) return false;
  }
  return true;
}

// Takes back what was written into the view. Returns how many of its bytes are mapped then; nothing: the view cannot be
// used again.
std::optional<std::size_t> taken_back(std::span<std::byte> bytes) {
  const auto page_size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  // Opened each time: a forked child would find its parent's pages.
  const UniqueFd file(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::array<std::uint64_t, kPagesAtOnce> pages;  // of the stack: this also runs where there is no memory left
  std::size_t mapped = 0;
  const std::size_t first = reinterpret_cast<std::uintptr_t>(bytes.data()) / page_size;
  const std::size_t count = (bytes.size() + page_size - 1) / page_size;
  for (std::size_t done = 0; done < count;) {
    const std::size_t some = std::min(count - done, kPagesAtOnce);
    const auto got = ::pread(file.get(), pages.data(), some * sizeof(std::uint64_t),
                             static_cast<off_t>((first + done) * sizeof(std::uint64_t)));
    if (got <= 0 || got % sizeof(std::uint64_t) != 0) return {};
    const std::span<const std::uint64_t> read(pages.data(), static_cast<std::size_t>(got) / sizeof(std::uint64_t));
    if (!forget_writes(bytes.data() + done * page_size, read, page_size)) return {};
    mapped += page_size * static_cast<std::size_t>(std::ranges::count_if(
                              read, [](std::uint64_t page) { return (page & kInMemory) != 0 && !is_written(page); }));
    done += read.size();
  }
  return mapped;
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
