#include "base/environment.h"

#include <string_view>

namespace pounce {

Environment environment_of(const char* const* entries) {
  Environment environment;
  for (; *entries != nullptr; ++entries) {
    const std::string_view text(*entries);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

}  // namespace pounce
