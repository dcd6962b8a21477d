// What pouncectl writes: lines, JSON, errors, colours, and tables with their amounts. Names of jobs, users and classes,
// reasons, paths and Slurm's words come from untrusted peers: none of them acts on a terminal or passes for a line of
// ours (base/text.h). Tables take care of that in columns(). Thread: main.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/error.h"

namespace pounce::ctl {

// ascii: escapes all but ASCII, for terminals, which interpret more than JSON escapes. Invalid UTF-8 is replaced.
std::string json_text(const nlohmann::json& document, int indent, bool ascii);

void print_json(const nlohmann::json& document, int indent = 2);  // on standard output; ASCII if that is a terminal
void print_line(std::string_view line);                           // on standard output, printable

// Colours, only on a terminal and only where NO_COLOR is not set.
enum class Colour { kRed, kGreen, kYellow, kBold };

// stream: the text's destination, STDOUT_FILENO or STDERR_FILENO.
std::string coloured(Colour colour, std::string_view text, int stream);

// An error as the user reads it: cause and remedy on standard error, or a JSON document on standard output.
int report(const Error& error, bool json);  // returns the exit code

// ---- tables -------------------------------------------------------------------------------------------------------

// How many columns of a terminal a UTF-8 text takes, in any locale: combining accents take none, East Asian letters
// two.
std::size_t display_width(std::string_view text);  // an invalid byte counts as one column

// A column is as wide as its widest cell, with two spaces between columns. An empty column is left out.
using Cells = std::vector<std::string>;
// The first row is the head. An empty cell is printed as "-". Ends with a line break.
std::string columns(const std::vector<Cells>& rows);

// Bytes in the notebook's words (python/pounce/_common/byte_size.py).
std::string byte_size(std::uint64_t bytes);  // "412.0 MB"

// A span of time as people write it behind an option: "7d", "12h", "90min" (base/durations.h).
Result<std::int64_t> seconds_of(const std::string& span);

}  // namespace pounce::ctl
