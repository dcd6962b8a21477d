// What pouncectl writes: lines, JSON, errors and colours. Names of jobs, users and classes, reasons, paths and Slurm's
// words come from untrusted peers: none of them acts on a terminal or passes for a line of ours (base/text.h).
// Tables take care of that in columns(). Thread: main.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

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

}  // namespace pounce::ctl
