// Text in columns, and the amounts that stand in them: widths on a terminal, bytes, spans of time. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/result.h"

namespace pounce::ctl {

// How many columns of a terminal a UTF-8 text takes, in any locale: combining accents take none, East Asian letters
// two.
std::size_t display_width(std::string_view text);  // an invalid byte counts as one column

// A column is as wide as its widest cell, with two spaces between columns. An empty column is left out.
using Cells = std::vector<std::string>;

// The first row is the head. An empty cell is printed as "-". Ends with a line break.
std::string columns(const std::vector<Cells>& rows);

// Bytes in the notebook's words (python/pounce/_common/byte_size.py).
std::string byte_size(std::uint64_t bytes);  // "412.0 MB"

// A span of time as people write it behind an option.

Result<std::int64_t> seconds_of(const std::string& span);  // "7d", "12h", "90min": base/durations.h

}  // namespace pounce::ctl
