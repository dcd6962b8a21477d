#include "memory/page_map.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "base/unique_fd.h"

namespace pounce::memory {
namespace {

using Written = std::function<bool(std::size_t, std::size_t)>;

// ---- ranges, from Linux 6.7 on ------------------------------------------------------------------------------------

// PAGEMAP_SCAN of linux/fs.h, which older headers lack (Documentation/admin-guide/mm/pagemap.rst).
struct Range {
  std::uint64_t start, end, categories;
};
struct Scan {
  std::uint64_t size = sizeof(Scan), flags = 0, start = 0, end = 0, walk_end = 0, ranges = 0, room = 0, max_pages = 0;
  std::uint64_t inverted = 0, all_of = 0, any_of = 0, told = 0;
};
constexpr unsigned long kScan = _IOWR('f', 16, Scan);
constexpr std::uint64_t kOfFile = 1 << 2, kPresent = 1 << 3, kSwapped = 1 << 4;
constexpr std::size_t kRangesAtOnce = 128;

enum class Scanned { kAll, kStopped, kNotHere };

Scanned scan(int pagemap, std::span<std::byte> bytes, const Written& written, std::size_t& mapped) {
  std::array<Range, kRangesAtOnce> ranges;
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data()), end = begin + bytes.size();
  Scan one;
  one.ranges = reinterpret_cast<std::uintptr_t>(ranges.data());
  one.room = ranges.size();
  one.any_of = kPresent | kSwapped;
  one.told = kOfFile | kPresent | kSwapped;
  for (one.start = begin, one.end = end; one.start < end; one.start = one.walk_end) {
    const int found = ::ioctl(pagemap, kScan, &one);
    if (found < 0) return one.start == begin ? Scanned::kNotHere : Scanned::kStopped;
    for (const Range& range : std::span(ranges).first(static_cast<std::size_t>(found))) {
      const std::size_t size = range.end - range.start;
      if ((range.categories & kOfFile) == 0 && !written(range.start - begin, size)) return Scanned::kStopped;
      if ((range.categories & kOfFile) != 0 && (range.categories & kPresent) != 0) mapped += size;
    }
  }
  return Scanned::kAll;
}

// ---- page by page -------------------------------------------------------------------------------------------------

// man 5 proc, /proc/pid/pagemap: 64 bits for each page. A page in memory or in swap that is of no file is a copy that
// was made for a write.
constexpr std::uint64_t kPageOfFile = 1ULL << 61, kPageInSwap = 1ULL << 62, kPageInMemory = 1ULL << 63;
constexpr std::size_t kPagesAtOnce = 4096;

bool is_written(std::uint64_t page) { return (page & (kPageInMemory | kPageInSwap)) != 0 && (page & kPageOfFile) == 0; }

bool tell_written(std::span<const std::uint64_t> pages, std::size_t first_offset, std::size_t page_size,
                  const Written& written) {
  for (auto at = pages.begin(); at != pages.end();) {
    const auto first = std::find_if(at, pages.end(), is_written);
    at = std::find_if_not(first, pages.end(), is_written);
    const auto offset = first_offset + static_cast<std::size_t>(first - pages.begin()) * page_size;
    const auto size = static_cast<std::size_t>(at - first) * page_size;
    if (size > 0 && !written(offset, size)) return false;
  }
  return true;
}

bool read_each(int pagemap, std::span<std::byte> bytes, const Written& written, std::size_t& mapped) {
  const auto page_size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::array<std::uint64_t, kPagesAtOnce> pages;
  const std::size_t first = reinterpret_cast<std::uintptr_t>(bytes.data()) / page_size;
  const std::size_t count = (bytes.size() + page_size - 1) / page_size;
  for (std::size_t done = 0; done < count;) {
    const std::size_t some = std::min(count - done, kPagesAtOnce);
    const auto got = ::pread(pagemap, pages.data(), some * sizeof(std::uint64_t),
                             static_cast<off_t>((first + done) * sizeof(std::uint64_t)));
    if (got <= 0 || got % sizeof(std::uint64_t) != 0) return false;
    const std::span<const std::uint64_t> read(pages.data(), static_cast<std::size_t>(got) / sizeof(std::uint64_t));
    if (!tell_written(read, done * page_size, page_size, written)) return false;
    mapped += page_size * static_cast<std::size_t>(std::ranges::count_if(read, [](std::uint64_t page) {
                return (page & kPageInMemory) != 0 && !is_written(page);
              }));
    done += read.size();
  }
  return true;
}

}  // namespace

std::optional<std::size_t> find_written(std::span<std::byte> bytes, const Written& written) {
  // Opened each time: a forked child would find its parent's pages.
  const UniqueFd pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap) return {};
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::span<std::byte> whole_pages(bytes.data(), (bytes.size() + page - 1) / page * page);
  std::size_t mapped = 0;
  const Scanned scanned = scan(pagemap.get(), whole_pages, written, mapped);
  const bool all =
      scanned == Scanned::kNotHere ? read_each(pagemap.get(), whole_pages, written, mapped) : scanned == Scanned::kAll;
  return all ? std::optional(mapped) : std::nullopt;
}

}  // namespace pounce::memory
