// A private view of a block that is kept between its uses: the page faults of a new view of 1 GiB take a tenth of a
// second. Thread: any.
#pragma once

#include <cstddef>
#include <memory>

#include "memory/memory_block.h"
#include "pounce/error.h"

namespace pounce::memory {

class KeptView {
 public:
  static constexpr std::size_t kWorthKeeping = 4 * 1024 * 1024;  // below this a new view is as fast

  // A view for one use, which may write it; each use finds the block's own content. While another use has the kept
  // view this is a new one. A use may outlive this object.
  Result<std::shared_ptr<View>> lend(const std::shared_ptr<MemoryBlock>& block, std::size_t size) const;

  // Takes back what ended uses have written: up to 10 ms for each GiB that they have looked at. Without it the next use
  // waits for that.
  static void take_back_writes();

  // Bytes that the kernel counts as this process's memory although no use has them: of all kept views.
  static std::size_t unused_bytes();

 private:
  struct Place;
  class Written;
  std::shared_ptr<Place> place_ = make_place();
  static std::shared_ptr<Place> make_place();
};

}  // namespace pounce::memory
