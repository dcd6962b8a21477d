// What pouncectl writes: lines, JSON, errors and colours.

#include "pouncectl/output.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "messages/sentence.h"
#include "model/json.h"
#include "pouncectl/commands.h"

namespace pounce::ctl {

std::string json_text(const nlohmann::json& document, int indent, bool ascii) {
  return document.dump(indent, ' ', ascii, nlohmann::json::error_handler_t::replace);
}

void print_json(const nlohmann::json& document, int indent) {
  std::cout << json_text(document, indent, ::isatty(STDOUT_FILENO) != 0) << std::endl;
}

void print_line(std::string_view line) { std::cout << printable(line) << '\n'; }

namespace {

bool wanted(int stream) {
  const char *no = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  const bool refused = no != nullptr && *no != '\0';
  return !refused && ::isatty(stream) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace

std::string coloured(Colour colour, std::string_view text, int stream) {
  constexpr std::string_view kCodes[] = {"31", "32", "33", "1"};
  if (!wanted(stream)) return std::string(text);
  return "\033[" + std::string(kCodes[static_cast<int>(colour)]) + "m" + std::string(text) + "\033[0m";
}

int report(const Error& error, bool json) {
  if (json)
    print_json({{"error", model::to_json(error)}}, -1);
  else
    std::cerr << coloured(Colour::kRed, printable("pouncectl: " + messages::text(error) + "."), STDERR_FILENO) << ' '
              << printable(error.advice()) << '\n';
  return error.code == ErrorCode::kDaemonUnavailable ? kNoDaemon : kFailed;
}

}  // namespace pounce::ctl
