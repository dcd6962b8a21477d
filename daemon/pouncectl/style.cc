#include "pouncectl/style.h"

#include <unistd.h>

#include <cstdlib>

namespace pounce::ctl {
namespace {

bool wanted(int stream) {
  const char *no = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  const bool refused = no != nullptr && *no != '\0';
  return !refused && ::isatty(stream) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace

std::string coloured(Colour colour, std::string_view text, int stream) {
  constexpr std::string_view kCodes[] = {"31", "32", "33", "1"};
  if (!wanted(stream)) return std::string(text);
  return "\033[" + std::string(kCodes[static_cast<int>(colour)]) + "m" + std::string(text) + "\033[0m";
}

}  // namespace pounce::ctl
