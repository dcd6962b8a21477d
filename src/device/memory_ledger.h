// Counts how much of a device's memory each holder has, and the maximum so far. The text of an "out of memory" error
// comes from here. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "device/device_facts.h"
#include "pounce/error.h"

namespace pounce::device {

struct MemoryUse {  // pounce's share of a device
  std::uint64_t bytes = 0, most_bytes = 0;
  std::map<std::string, std::uint64_t> holders;  // by purpose
};

class MemoryLedger {
 public:
  void add(const std::string& holder, std::uint64_t bytes);
  void remove(const std::string& holder, std::uint64_t bytes);
  const MemoryUse& use() const { return use_; }

 private:
  MemoryUse use_;
};

// The error when `wanted_bytes` are not there. `room`: as the driver reports it; nullopt: the driver no longer
// answers.
Error out_of_device_memory(std::uint64_t wanted_bytes, const MemoryUse& use, std::optional<MemoryRoom> room);

}  // namespace pounce::device
