// How many columns of a terminal a UTF-8 text takes: accents that combine take none, letters of East Asia two.
// Whatever the user's own locale is. Thread: any.
#pragma once

#include <cstddef>
#include <string_view>

namespace pounce::ctl {

std::size_t display_width(std::string_view text);  // a byte that is no UTF-8 counts as one column

}  // namespace pounce::ctl
