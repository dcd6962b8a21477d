// Devices made of this machine's memory, so that the same calls have the same results without a GPU. A copy is done
// when its call returns. The ranks of a group are on one machine. Thread: any.
#pragma once

#include <cstdint>
#include <memory>

#include "device/driver.h"

namespace pounce::device {

struct HostSize {
  std::uint32_t devices = 1;
  std::uint64_t memory_bytes = 0;  // per device; 0: the machine's
};

std::unique_ptr<Backend> host_backend(HostSize size = {});

}  // namespace pounce::device
