#include "pounce-report/report_lines.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"

namespace pounce::reporter {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kOptions = {"--status", "--file", "--help", "--version"};

tl::unexpected<Error> wrong(const std::string& text, const std::string& remedy) {
  return failure(ErrorCode::kBadRequest, text, remedy);
}

bool is_of_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-.:/").find(c) != std::string_view::npos;
}

bool is_number(const std::string& text) {
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return !text.empty() && text.find_first_of(" \t\n\v\f\rxX(") == std::string::npos && *end == '\0';
}

Result<void> check_number(const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (equals == std::string::npos)
    return wrong("'" + printable(word) + "' is no report", "Write NAME=NUMBER, as in loss=0.3, or --status TEXT.");
  if (name.empty() || name.size() > kNameBytes || !std::ranges::all_of(name, is_of_a_name))
    return wrong("'" + printable(name, kNameBytes) + "' is no name of a number",
                 "A name has up to " + std::to_string(kNameBytes) + " letters, digits and _ - . : / .");
  if (name == "status" || name == "file")
    return wrong("'" + name + "' is no name of a number", "Write --" + name + " instead.");
  if (!is_number(word.substr(equals + 1)))
    return wrong("'" + printable(word.substr(equals + 1)) + "' in '" + printable(word) + "' is no number",
                 "Write a text as --status TEXT.");
  return {};
}

Result<void> take_option(Words& found, const std::string& option, const std::string& value) {
  if (option == "--status")
    found.status = value;
  else
    found.files.push_back(value);
  if (value.empty()) return wrong(option + " needs a value", "For example: pounce-report " + option + " \"epoch 3\"");
  return {};
}

}  // namespace

Result<Words> read_words(const std::vector<std::string>& words) {
  Words found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("-")) {
      if (auto right = check_number(word); !right) return tl::unexpected(right.error());
      found.numbers.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string option = word.substr(0, equals);
    if (option == "--help" || option == "-h" || option == "--version") {
      (option == "--version" ? found.version : found.help) = true;
      return found;
    }
    if (option != "--status" && option != "--file") {
      const std::string meant = meant_word(option, kOptions);
      return wrong("there is no option " + printable(option),
                   meant.empty() ? "The options are " + joined(kOptions) + "." : "Did you mean " + meant + "?");
    }
    const bool is_behind = equals != std::string::npos;
    const std::string value = is_behind ? word.substr(equals + 1) : i + 1 < words.size() ? words[++i] : std::string();
    if (auto right = take_option(found, option, value); !right) return tl::unexpected(right.error());
  }
  if (words.empty()) return wrong("nothing is said", "For example: pounce-report loss=0.3 step=7");
  return found;
}

namespace {

Result<std::string> file_line(const std::string& path) {
  std::error_code unknown;
  const fs::path whole = fs::absolute(path, unknown);
  if (!fs::exists(whole, unknown)) return wrong("there is no file " + printable(path), "Write it first.");
  if (!fs::is_regular_file(whole, unknown)) return wrong(printable(path) + " is no file", "Report single files.");
  if (::access(whole.c_str(), R_OK) != 0) return wrong(printable(path) + " cannot be read", "See its permissions.");
  if (whole.string().find('\n') != std::string::npos)
    return wrong("the path " + printable(path) + " has a line break", "Give the file another name.");
  return "file=" + whole.string() + "\n";
}

// The status takes the rest of its line: control characters, line breaks too, are as spaces.
std::string first_line(const Words& words) {
  std::string line = joined(words.numbers, " ");
  if (words.status.empty()) return line + "\n";
  line += line.empty() ? "status=" : " status=";
  for (const char c : words.status) line += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
  return line + "\n";
}

}  // namespace

Result<std::vector<std::string>> lines_of(const Words& words) {
  std::vector<std::string> lines;
  if (!words.numbers.empty() || !words.status.empty()) lines.push_back(first_line(words));
  for (const std::string& file : words.files) {
    auto line = file_line(file);
    if (!line) return tl::unexpected(line.error());
    lines.push_back(std::move(*line));
  }
  for (const std::string& line : lines)
    if (line.size() > kLineBytes)
      return wrong("a line of " + std::to_string(line.size()) + " bytes is too long",
                   "Report " + std::to_string(kLineBytes) + " bytes at most at a time.");
  return lines;
}

}  // namespace pounce::reporter
