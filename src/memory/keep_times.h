// How long memory is kept warm for its next use.
#pragma once

#include <chrono>

namespace pounce::memory {

inline constexpr std::chrono::seconds kKeptWithoutUse{60};
inline constexpr std::chrono::seconds kBetweenLooks{2};  // at what is due to be given back

}  // namespace pounce::memory
