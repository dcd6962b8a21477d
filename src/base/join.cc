#include "base/join.h"

#include <fmt/format.h>

namespace pounce {

std::string joined(std::span<const std::string> words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

}  // namespace pounce
