// Ids for tests, told apart by one number.
#pragma once

#include "model/ids.h"

namespace pounce {

template <class Id>
Id id_of(std::uint8_t n) {
  std::array<std::uint8_t, Id::kBytes> bytes{};
  bytes[0] = n;
  return Id(bytes);
}

}  // namespace pounce
