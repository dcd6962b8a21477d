// Colours, only on a terminal and only without NO_COLOR. Thread: main.
#pragma once

#include <string>
#include <string_view>

namespace pounce::ctl {

enum class Colour { kRed, kGreen, kYellow, kBold };

// stream: the text's destination, STDOUT_FILENO or STDERR_FILENO.
std::string coloured(Colour colour, std::string_view text, int stream);

}  // namespace pounce::ctl
