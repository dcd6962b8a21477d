#include "pouncectl/output.h"

#include <locale.h>
#include <unistd.h>
#include <wchar.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/durations.h"
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

// ---- tables -------------------------------------------------------------------------------------------------------
namespace {

// Sets this thread's locale to UTF-8 for its lifetime. If the C library has no such locale, each byte is a character.
class Utf8Locale {
 public:
  Utf8Locale() : utf8_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{})) {
    if (utf8_ != locale_t{}) before_ = ::uselocale(utf8_);
  }
  ~Utf8Locale() {
    if (utf8_ == locale_t{}) return;
    ::uselocale(before_);
    ::freelocale(utf8_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  const locale_t utf8_;
  locale_t before_{};
};

}  // namespace

std::size_t display_width(std::string_view text) {
  if (std::ranges::all_of(text, [](char byte) { return byte >= ' ' && byte <= '~'; })) return text.size();
  const Utf8Locale locale;
  std::size_t width = 0;
  for (mbstate_t state{}; !text.empty();) {
    wchar_t character = 0;
    const std::size_t bytes = ::mbrtowc(&character, text.data(), text.size(), &state);
    const bool whole = bytes != 0 && bytes <= text.size();  // otherwise invalid, incomplete, or the byte 0
    width += whole ? static_cast<std::size_t>(std::max(::wcwidth(character), 0)) : 1;
    text.remove_prefix(whole ? bytes : 1);
    if (!whole) state = {};
  }
  return width;
}

namespace {

bool says_something(const std::vector<Cells>& rows, std::size_t column) {
  return std::any_of(rows.begin() + 1, rows.end(), [column](const Cells& row) { return !row[column].empty(); });
}

std::size_t width_of(const std::vector<Cells>& rows, std::size_t column) {
  std::size_t width = 1;
  for (const Cells& row : rows) width = std::max(width, display_width(row[column]));
  return width;
}

std::vector<Cells> all_printable(std::vector<Cells> rows) {
  for (Cells& row : rows)
    for (std::string& cell : row) cell = printable(cell);
  return rows;
}

std::string laid_out(const std::vector<Cells>& rows) {
  std::vector<std::string> lines(rows.size());
  for (std::size_t column = 0; column < rows.front().size(); ++column) {
    if (!says_something(rows, column)) continue;
    const std::size_t width = width_of(rows, column);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string cell = rows[i][column].empty() ? "-" : rows[i][column];
      lines[i] += (lines[i].empty() ? "" : "  ") + cell + std::string(width - display_width(cell), ' ');
    }
  }
  std::string text;
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

// Cells are untrusted text: names of jobs and users, reasons and comments come from other users.
std::string columns(const std::vector<Cells>& rows) { return laid_out(all_printable(rows)); }

std::string byte_size(std::uint64_t bytes) {
  constexpr std::array<std::pair<const char*, double>, 3> kUnits{{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}};
  for (const auto& [unit, size] : kUnits) {
    if (static_cast<double>(bytes) < size) continue;
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.1f %s", static_cast<double>(bytes) / size, unit);
    return text.data();
  }
  return std::to_string(bytes) + " B";
}

Result<std::int64_t> seconds_of(const std::string& span) {
  constexpr double kMost = 1'000'000 * 86400.0;
  const auto seconds = duration_s(span);
  if (!seconds || *seconds > kMost)
    return failure(ErrorCode::kBadRequest, "\"" + span + "\" is no span of time", "Say for example 7d, 12h or 90min.");
  return static_cast<std::int64_t>(*seconds);
}

}  // namespace pounce::ctl
