// Whether a GPU can still be used, by its driver's reports. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pounce/error.h"

namespace pounce::device {

// The meaning of an Xid, the number of a driver's report.
enum class XidMeaning : std::uint8_t {
  kProgram,  // a program caused it, and only that program ends
  kGpu,      // the GPU, its memory or its links: it must not be used before it was reset or repaired
  kUnknown,  // from a newer driver, or either of these
};
XidMeaning meaning_of_xid(std::uint64_t xid);

struct GpuHealth {
  bool gone = false;                // the driver does not reach it any more
  std::vector<std::uint64_t> xids;  // reported since the last look
  bool memory_failed = false;       // an uncorrected error of its memory (ECC) since the last look
};

// The error for a GPU that must not be used; nullopt: it may be used.
std::optional<Error> failure_of(const std::string& uuid, const GpuHealth& health);

}  // namespace pounce::device
