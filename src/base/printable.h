// Text of strangers for logs and terminals. Thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pounce {

// Without what could act on a terminal or pass for another line: control characters, marks that turn the writing around
// and bytes that are not UTF-8 appear as \xNN, \n, \t. More than `most_bytes` are cut, and end with "…".
std::string printable(std::string_view text, std::size_t most_bytes = 4096);

}  // namespace pounce
