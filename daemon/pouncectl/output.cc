#include "pouncectl/output.h"

#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/printable.h"

namespace pounce::ctl {

std::string json_text(const nlohmann::json& document, int indent, bool ascii) {
  return document.dump(indent, ' ', ascii, nlohmann::json::error_handler_t::replace);
}

void print_json(const nlohmann::json& document, int indent) {
  std::cout << json_text(document, indent, ::isatty(STDOUT_FILENO) != 0) << std::endl;
}

void print_line(std::string_view line) { std::cout << printable(line) << '\n'; }

}  // namespace pounce::ctl
