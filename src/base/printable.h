// Makes untrusted text safe for logs and terminals. Thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pounce {

// Escapes everything that could control a terminal or look like another line: control characters, marks that change
// the writing direction and bytes that are not UTF-8 become \xNN, \n, \t. Cuts text over `most_bytes` and ends it
// with "…".
std::string printable(std::string_view text, std::size_t most_bytes = 4096);

}  // namespace pounce
