// Devices made of this machine's memory: where there is no GPU, the same calls have the same results. A copy is done
// when it has begun. A group's ranks are on one machine. Thread: any.
#pragma once

#include <cstdint>
#include <memory>

#include "device/driver.h"

namespace pounce::device {

struct HostSize {
  std::uint32_t devices = 1;
  std::uint64_t memory_bytes = 0;  // of each; 0: the machine's
};

std::unique_ptr<Backend> host_backend(HostSize size = {});

}  // namespace pounce::device
