// Large pieces of work on memory by several threads at once, since one core copies and hashes more slowly than memory
// allows. Blocks until all is done. Thread: any.
#pragma once

#include <cstddef>
#include <functional>

namespace pounce::memory {

// Calls work(begin, size) for parts that together are [0, size), from up to four threads. Each part but the last is a
// multiple of kPartAlign. False: one call returned false (the others have run too).
constexpr std::size_t kPartAlign = 1024 * 1024;
bool in_parts(std::size_t size, const std::function<bool(std::size_t begin, std::size_t size)>& work);

}  // namespace pounce::memory
