#include "memory/memory_block.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/threads.h"
#include "memory/huge_pages.h"

namespace pounce::memory {
namespace {

constexpr std::size_t kMostThreads = 4;
constexpr std::size_t kWorthAThread = 8 * 1024 * 1024;  // a thread costs about 20 µs, these bytes some 2 ms

std::size_t part_size(std::size_t size) {
  const std::size_t threads = std::clamp<std::size_t>(size / kWorthAThread, 1, std::min(kMostThreads, processors()));
  const std::size_t part = (size + threads - 1) / threads;
  return (part + kPartAlign - 1) / kPartAlign * kPartAlign;
}

}  // namespace

bool in_parts(std::size_t size, const std::function<bool(std::size_t, std::size_t)>& work) {
  if (size < 2 * kWorthAThread) return work(0, size);
  const std::size_t part = part_size(size);
  std::vector<char> done((size + part - 1) / part, 0);
  const auto run = [&](std::size_t index) { done[index] = work(index * part, std::min(part, size - index * part)); };
  {
    const BlockedSignals blocked;  // signals go to the threads that were there before
    std::vector<std::jthread> helpers;
    std::size_t next = 1;
    try {
      for (; next < done.size(); ++next) helpers.emplace_back(run, next);
    } catch (const std::system_error&) {  // no more threads: this one does the rest
    }
    for (; next < done.size(); ++next) run(next);
    run(0);
  }
  return std::ranges::all_of(done, [](char ok) { return ok != 0; });
}

namespace {

constexpr int kFixedSize = F_SEAL_SHRINK | F_SEAL_GROW;

tl::unexpected<Error> no_memory(std::size_t size, int reason = errno) {
  return failure(ErrorCode::kOutOfMemory,
                 "no " + std::to_string(size) + " bytes of shared memory for an object: " + std::strerror(reason));
}

// The kernel accepts any size, and ends a process that then uses it.
bool more_than_there_is(std::size_t size) {
  return size / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) > static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
}

// Above this limit the kernel does not only refuse: it sends SIGXFSZ, which ends a process that does not ignore it.
bool more_than_a_file_may_have(std::size_t size) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && size > limit.rlim_cur;
}

bool write_all_at(int fd, std::size_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    offset += static_cast<std::size_t>(wrote);
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
  return true;
}

// Of the same memory, with a use count of its own: a descriptor that is passed on or inherited counts as ours.
UniqueFd opened_again(int fd) {
  return UniqueFd(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC));
}

constexpr std::size_t kWorthHugePages = 2 * kHugePage;  // a smaller block would waste too much of one
constexpr std::size_t kMadeAtOnce = 32 * 1024 * 1024;   // each request interrupts all processors once
constexpr std::size_t kMappedAtOnce = 4 * 1024 * 1024;  // what is mapped counts as this process's memory
constexpr std::size_t kWorthAMapping = 512 * 1024;      // a smaller piece is written through the descriptor

// Small pages are cheaper where the kernel has to move others first, or a virtual machine's host to find memory.
constexpr std::chrono::nanoseconds kWorthPerPage = std::chrono::microseconds(1200);

// Of this thread: what else runs on the machine does not count.
std::chrono::nanoseconds processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace

MemoryBlock::MemoryBlock(UniqueFd fd, std::size_t capacity, From from, bool counts_uses)
    : fd_(std::move(fd)),
      capacity_(capacity),
      adopted_(from == From::kAnotherProcess),
      counts_uses_(counts_uses),
      huge_(adopted_ || capacity < kWorthHugePages ? 0 : capacity / kHugePage) {}

Result<std::unique_ptr<MemoryBlock>> MemoryBlock::make(std::size_t capacity) {
  if (more_than_there_is(capacity)) return no_memory(capacity, ENOMEM);
  if (more_than_a_file_may_have(capacity)) return no_memory(capacity, EFBIG);
  UniqueFd fd(::memfd_create("pounce-object", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(capacity)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, kFixedSize) != 0)
    return no_memory(capacity);
  UniqueFd counted = opened_again(fd.get());  // the kernel does not count the uses of the first
  const bool counts_uses = static_cast<bool>(counted);
  return std::unique_ptr<MemoryBlock>(
      new MemoryBlock(counts_uses ? std::move(counted) : std::move(fd), capacity, From::kMadeHere, counts_uses));
}

Result<std::unique_ptr<MemoryBlock>> MemoryBlock::adopt(UniqueFd fd) {
  struct stat facts{};
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);  // -1: no memfd
  if (seals < 0 || (seals & kFixedSize) != kFixedSize || ::fstat(fd.get(), &facts) != 0)
    return failure(ErrorCode::kProtocol, "memory came whose size may change");
  return std::unique_ptr<MemoryBlock>(
      new MemoryBlock(std::move(fd), static_cast<std::size_t>(facts.st_size), From::kAnotherProcess, false));
}

Result<void> MemoryBlock::write(std::size_t offset, std::span<const std::byte> bytes) {
  // The limit may have changed.
  if (more_than_a_file_may_have(offset + bytes.size())) return no_memory(capacity_, EFBIG);
  const auto write_piece = [&](std::size_t begin, std::size_t size) {
    const auto there = size < kWorthAMapping ? nullptr : place(offset + begin, size);
    if (there) std::memcpy(there->bytes().data(), bytes.data() + begin, size);
    return there || write_all_at(fd_.get(), offset + begin, bytes.subspan(begin, size));
  };
  const bool written = in_parts(bytes.size(), [&](std::size_t begin, std::size_t size) {
    for (const std::size_t end = begin + size; begin < end; begin += kMappedAtOnce)
      if (!write_piece(begin, std::min(end - begin, kMappedAtOnce))) return false;
    return true;
  });
  if (!written) return no_memory(capacity_);
  return {};
}

std::shared_ptr<View> MemoryBlock::place(std::size_t offset, std::size_t size) {
  if (!has_huge_pages(offset, size)) return nullptr;
  const std::size_t before = offset % kHugePage;
  const auto mapped = map_for_huge_pages(fd_.get(), offset - before, before + size, MAP_SHARED);
  if (mapped.empty()) return nullptr;
  return std::shared_ptr<View>(new View(nullptr, mapped, before));
}

// Makes those that are not there yet, and some behind them.
bool MemoryBlock::has_huge_pages(std::size_t offset, std::size_t size) {
  const std::scoped_lock lock(mutex_);
  const std::size_t last = (offset + size + kHugePage - 1) / kHugePage;
  if (refused_ || size == 0 || last > huge_.size()) return false;
  for (std::size_t next = offset / kHugePage; next < last; ++next) {
    if (huge_[next]) continue;
    if (too_slow_) return false;
    const std::size_t end = std::min(huge_.size(), std::max(last, next + kMadeAtOnce / kHugePage));
    const auto before = processor_time();
    if (!make_huge(fd_.get(), next * kHugePage, end * kHugePage)) {
      refused_ = true;
      return false;
    }
    too_slow_ = too_slow_ || processor_time() - before > kWorthPerPage * (end - next);
    std::fill(huge_.begin() + static_cast<std::ptrdiff_t>(next), huge_.begin() + static_cast<std::ptrdiff_t>(end),
              true);
  }
  return true;
}

std::size_t MemoryBlock::untouched() const {
  struct stat facts{};
  const std::size_t touched = ::fstat(fd_.get(), &facts) == 0 ? static_cast<std::size_t>(facts.st_blocks) * 512 : 0;
  return capacity_ - std::min(capacity_, touched);
}

bool MemoryBlock::freeze() { return frozen() || ::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0; }

bool MemoryBlock::frozen() const {
  return (::fcntl(fd_.get(), F_GET_SEALS) & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0;
}

UniqueFd MemoryBlock::descriptor_to_give() {
  UniqueFd theirs = counts_uses_ && !frozen() ? opened_again(fd_.get()) : UniqueFd();
  counts_uses_ = static_cast<bool>(theirs);
  return theirs;
}

// A write lease is granted only while nothing but our own descriptor has the file open, mapped memory included.
bool MemoryBlock::ours_alone() const {
  if (!counts_uses_ || ::fcntl(fd_.get(), F_SETLEASE, F_WRLCK) != 0) return false;
  return ::fcntl(fd_.get(), F_SETLEASE, F_UNLCK) == 0;
}

Result<std::shared_ptr<View>> View::map(std::shared_ptr<MemoryBlock> block, std::size_t size, Sharing sharing) {
  const int flags = sharing == Sharing::kPrivate ? MAP_PRIVATE : MAP_SHARED;
  const auto mapped = map_for_huge_pages(block->fd(), 0, size, flags);
  if (mapped.empty())
    return failure(ErrorCode::kOutOfMemory,
                   "no room for " + std::to_string(size) + " bytes of an object: " + std::strerror(errno));
  return std::shared_ptr<View>(new View(std::move(block), mapped, 0));
}

View::~View() { ::munmap(mapped_.data(), mapped_.size()); }

}  // namespace pounce::memory
