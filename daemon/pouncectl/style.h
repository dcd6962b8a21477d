// Colours, only on a terminal and only where the user has not said NO_COLOR. Thread: main.
#pragma once

#include <string>
#include <string_view>

namespace pounce::ctl {

enum class Colour { kRed, kGreen, kYellow, kBold };

// stream: STDOUT_FILENO or STDERR_FILENO, where the text will be written.
std::string coloured(Colour colour, std::string_view text, int stream);

}  // namespace pounce::ctl
