// Memory of this process alone, for large data that is received or copied: in huge pages where the kernel gives them,
// since receiving into fresh 4 KiB pages costs three times as much (docs/gotchas.md L1). Thread: any.
#pragma once

#include <cstddef>

#include "base/bytes.h"
#include "base/clock.h"

namespace pounce::memory {

// Fresh; zeros. Throws std::bad_alloc.
WritableBytes private_memory(std::size_t size);

// Large memory for what is received, kept warm for the next one of about its size: not cleared, as every byte of it is
// overwritten. It is given back after a minute without use, and as soon as less than its size is free beside it.
class WarmMemory {
 public:
  static WritableBytes take(std::size_t size);  // throws std::bad_alloc
  static std::size_t kept_bytes();
  static void give_back(TimePoint now);  // what is due
  static TimePoint next_deadline();      // when something may be due; max(): nothing is kept
  static void give_back_all();

 private:
  class Shelf;
  static Shelf& shelf();
};

}  // namespace pounce::memory
