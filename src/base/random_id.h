// Fresh random ids from the kernel's generator. Not for the core, which takes ids in events. Thread: any.
#pragma once

#include <sys/random.h>

#include <array>

#include "base/check.h"
#include "model/ids.h"

namespace pounce {

template <class Id>
Id random_id() {
  std::array<std::uint8_t, Id::kBytes> bytes;
  POUNCE_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "getrandom failed");
  return Id(bytes);
}

}  // namespace pounce
