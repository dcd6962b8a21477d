// What goes to whoever called pouncectl. Names of jobs, users and classes, reasons, paths and Slurm's words are of strangers:
// none of them acts on a terminal or passes for a line of ours (base/printable.h). Tables see to it in columns(). Thread: main.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace pounce::ctl {

// ascii: nothing but ASCII, all else escaped: for terminals, which act on more than JSON escapes. What is no UTF-8 is replaced.
std::string json_text(const nlohmann::json& document, int indent, bool ascii);

void print_json(const nlohmann::json& document, int indent = 2);  // on standard output, as it is read there
void print_line(std::string_view line);                           // on standard output, printable

}  // namespace pounce::ctl
