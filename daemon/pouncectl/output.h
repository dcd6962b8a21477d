// pouncectl's output. Names of jobs, users and classes, reasons, paths and Slurm's words are untrusted: none of them
// may control a terminal or look like a line of ours (base/printable.h). columns() ensures it for tables.
// Thread: main.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace pounce::ctl {

// ascii: escapes all but ASCII, for terminals, which interpret more than JSON escapes. Invalid UTF-8 is replaced.
std::string json_text(const nlohmann::json& document, int indent, bool ascii);

void print_json(const nlohmann::json& document, int indent = 2);  // on standard output; ASCII if that is a terminal
void print_line(std::string_view line);                           // on standard output, printable

}  // namespace pounce::ctl
