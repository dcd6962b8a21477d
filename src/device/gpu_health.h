// Whether a GPU can be given work still, of what its driver reports. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pounce/error.h"

namespace pounce::device {

// What a Xid, the number of a driver's report, says of the GPU.
enum class XidMeaning : std::uint8_t {
  kProgram,  // a program did it: only that one ends
  kGpu,      // the GPU, its memory or its links: nobody should use it before it was reset or repaired
  kUnknown,  // one of a newer driver, or that either may be
};
XidMeaning meaning_of_xid(std::uint64_t xid);

struct GpuHealth {
  bool gone = false;                // the driver does not reach it any more
  std::vector<std::uint64_t> xids;  // reported since the last look
  bool memory_failed = false;       // an error of its memory that was not corrected (ECC), since the last look
};

// What to say of it, where it is not to be used; nothing: it may be.
std::optional<Error> failure_of(const std::string& uuid, const GpuHealth& health);

}  // namespace pounce::device
