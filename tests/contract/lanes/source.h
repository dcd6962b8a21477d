// Data to be sent, of any size: memory without pages wherever nothing was written, so that four gigabytes of it cost
// nothing.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/check.h"
#include "base/unique_fd.h"

namespace pounce::lanes {

constexpr std::size_t kMiB = 1024 * 1024;

class Source {
 public:
  explicit Source(std::size_t size) : Source(size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() {
    if (base_ != nullptr) ::munmap(base_, size_);
  }

  // Eight bytes at the beginning of every MiB and just before it, and the last byte: a piece that is lost, doubled or
  // put elsewhere shows.
  static std::shared_ptr<const Source> marked(std::size_t size, std::uint64_t seed) {
    auto made = std::make_shared<Source>(size);
    for (std::size_t at = 0; at < size; at += kMiB) {
      made->mark(at, seed + at);
      if (at >= 8) made->mark(at - 8, ~(seed + at));
    }
    if (size > 0) made->base_[size - 1] = std::byte{0xff};
    return made;
  }

  std::span<const std::byte> bytes() const { return {base_, size_}; }
  bool is(std::span<const std::byte> other) const {
    return other.size() == size_ && (size_ == 0 || std::memcmp(other.data(), base_, size_) == 0);
  }

 protected:
  Source(std::size_t size, int flags, int file) : size_(size) {
    if (size == 0) return;
    void* const base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, file, 0);
    POUNCE_CHECK(base != MAP_FAILED, "the test has its data");
    base_ = static_cast<std::byte*>(base);
  }

 private:
  void mark(std::size_t at, std::uint64_t value) {
    std::memcpy(base_ + at, &value, std::min(sizeof value, size_ - at));
  }

  const std::size_t size_;
  std::byte* base_ = nullptr;
};

// Zeros that know how much of them anybody has read: what is read of an empty file gets a page, and the kernel counts
// those.
class CountedSource : UniqueFd, public Source {
 public:
  explicit CountedSource(std::size_t size) : UniqueFd(empty_file(size)), Source(size, MAP_SHARED, get()) {}
  std::size_t bytes_read() const {
    struct stat facts{};
    ::fstat(get(), &facts);
    return static_cast<std::size_t>(facts.st_blocks) * 512;
  }

 private:
  static int empty_file(std::size_t size) {
    const int file = ::memfd_create("source", MFD_CLOEXEC);
    POUNCE_CHECK(file >= 0 && ::ftruncate(file, static_cast<off_t>(size)) == 0, "the test has a file");
    return file;
  }
};

}  // namespace pounce::lanes
