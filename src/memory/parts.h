// Large pieces of work on memory by several threads at once: one core copies and hashes slower than memory goes. Blocks until
// all is done. Thread: any.
#pragma once

#include <cstddef>
#include <functional>

namespace pounce::memory {

// Calls work(begin, size) for parts that together are [0, size), from up to four threads; each part but the last is a
// multiple of kPartAlign. False: one of them said so (the others have run too).
constexpr std::size_t kPartAlign = 1024 * 1024;
bool in_parts(std::size_t size, const std::function<bool(std::size_t begin, std::size_t size)>& work);

}  // namespace pounce::memory
