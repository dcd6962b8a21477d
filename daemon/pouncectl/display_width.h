// The columns that a UTF-8 text takes on a terminal: combining accents take none, East Asian letters two.
// Independent of the user's locale. Thread: any.
#pragma once

#include <cstddef>
#include <string_view>

namespace pounce::ctl {

std::size_t display_width(std::string_view text);  // an invalid byte counts as one column

}  // namespace pounce::ctl
