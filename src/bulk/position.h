// How far a transfer has come: everything before this byte of this buffer has arrived. Thread: any (values).
#pragma once

#include <cstdint>

namespace pounce::bulk {

struct Position {
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0;
  auto operator<=>(const Position&) const = default;
};

}  // namespace pounce::bulk
