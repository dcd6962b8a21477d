// Huge pages for memory that processes share. The kernel gives none by itself there (shmem_enabled = never), but makes
// them when it is told to (MADV_COLLAPSE, Linux 6.1): clearing and mapping a gigabyte takes a fifth of the time then,
// and each later mapping of it 512 page faults instead of 262,144 (docs/gotchas.md L12). Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pounce::memory {

inline constexpr std::size_t kHugePage = 2 * 1024 * 1024;

constexpr std::size_t in_huge_pages(std::size_t size) { return (size + kHugePage - 1) / kHugePage * kHugePage; }

// Maps `size` bytes of a file from `offset`, a multiple of kHugePage, at an address that huge pages can have. Empty:
// the kernel refuses, as errno says.
std::span<std::byte> map_for_huge_pages(int fd, std::size_t offset, std::size_t size, int sharing);

// Gives all of [begin, end) of a memfd memory, in huge pages; both are multiples of kHugePage. What was written there
// stays. False: some of it may have none, and the writer must not count on it. Blocks for about 60 ms for each GiB.
bool make_huge(int fd, std::size_t begin, std::size_t end);

}  // namespace pounce::memory
