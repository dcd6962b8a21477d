// Who has how much of a device's memory, and how much it was at most; what an "out of memory" says comes from here.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "device/device_facts.h"
#include "pounce/error.h"

namespace pounce::device {

struct MemoryUse {  // what pounce has of a device
  std::uint64_t bytes = 0, most_bytes = 0;
  std::map<std::string, std::uint64_t> holders;  // by what they hold it for
};

class MemoryLedger {
 public:
  void add(const std::string& holder, std::uint64_t bytes);
  void remove(const std::string& holder, std::uint64_t bytes);
  const MemoryUse& use() const { return use_; }

 private:
  MemoryUse use_;
};

// So much was asked for and is not there. `room`: what the driver tells; nothing where it tells nothing any more.
Error out_of_device_memory(std::uint64_t asked_bytes, const MemoryUse& use, std::optional<MemoryRoom> room);

}  // namespace pounce::device
