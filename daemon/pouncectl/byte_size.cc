#include "pouncectl/byte_size.h"

#include <array>
#include <cstdio>
#include <utility>

namespace pounce::ctl {

std::string byte_size(std::uint64_t bytes) {
  constexpr std::array<std::pair<const char*, double>, 3> kUnits{{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}};
  for (const auto& [unit, size] : kUnits) {
    if (static_cast<double>(bytes) < size) continue;
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.1f %s", static_cast<double>(bytes) / size, unit);
    return text.data();
  }
  return std::to_string(bytes) + " B";
}

}  // namespace pounce::ctl
