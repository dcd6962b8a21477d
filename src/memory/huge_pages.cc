#include "memory/huge_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace pounce::memory {
namespace {

constexpr int kCollapse = 25;  // MADV_COLLAPSE, which older headers lack

std::atomic<bool> kernel_can = true;

// The kernel collapses no range of which nothing has memory.
bool begin_each(int fd, std::size_t begin, std::size_t end) {
  for (; begin < end; begin += kHugePage)
    if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin), 1) != 0) return false;
  return true;
}

}  // namespace

std::span<std::byte> map_for_huge_pages(int fd, std::size_t offset, std::size_t size, int sharing) {
  const std::size_t room = size + kHugePage;
  void* const taken = ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (taken == MAP_FAILED) return {};
  auto* const first = static_cast<std::byte*>(taken);
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t mapped = (size + page - 1) / page * page;
  const std::size_t before =
      in_huge_pages(reinterpret_cast<std::uintptr_t>(first)) - reinterpret_cast<std::uintptr_t>(first);
  std::byte* const base = first + before;
  void* const made = ::mmap(base, size, PROT_READ | PROT_WRITE, sharing | MAP_FIXED, fd, static_cast<off_t>(offset));
  const int reason = errno;
  const std::size_t kept = made == MAP_FAILED ? 0 : mapped;
  if (before > 0) ::munmap(first, before);
  if (before + kept < room) ::munmap(base + kept, room - before - kept);
  errno = reason;
  return made == MAP_FAILED ? std::span<std::byte>() : std::span(base, size);
}

bool make_huge(int fd, std::size_t begin, std::size_t end) {
  if (!kernel_can || !begin_each(fd, begin, end)) return false;
  const auto mapped = map_for_huge_pages(fd, begin, end - begin, MAP_SHARED);
  if (mapped.empty()) return false;
  const bool made = ::madvise(mapped.data(), mapped.size(), kCollapse) == 0;
  if (!made && errno == EINVAL) kernel_can = false;  // an older kernel, or one whose huge pages are turned off
  ::munmap(mapped.data(), mapped.size());
  return made;
}

}  // namespace pounce::memory
