#include "base/durations.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace pounce {
namespace {

constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
constexpr std::string_view kDigits = "0123456789", kSpace = " \t";

struct Unit {
  std::string_view word;
  double seconds;
};
constexpr Unit kUnits[] = {
    {"s", 1},         {"sec", 1},        {"secs", 1},         {"second", 1},        {"seconds", 1}, {"m", kMinute},
    {"min", kMinute}, {"mins", kMinute}, {"minute", kMinute}, {"minutes", kMinute}, {"h", kHour},   {"hr", kHour},
    {"hrs", kHour},   {"hour", kHour},   {"hours", kHour},    {"d", kDay},          {"day", kDay},  {"days", kDay},
};

std::string lowered(std::string_view text) {
  std::string low(text);
  for (char& each : low)
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  return low;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kSpace);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Takes the leading characters that `is_part` accepts off `text` and returns them.
std::string_view take(std::string_view& text, auto is_part) {
  const auto end = std::ranges::find_if_not(text, is_part);
  const std::string_view part = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(part.size());
  return part;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (text.empty() || read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

std::optional<double> whole(std::string_view digits) {
  return digits.find_first_not_of(kDigits) == digits.npos ? number(digits) : std::nullopt;
}

// "1h30m": the larger unit first.
std::optional<double> with_units(std::string_view text) {
  double sum = 0, last = std::numeric_limits<double>::infinity();
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const auto is_digit = [](char each) { return kDigits.find(each) != kDigits.npos || each == '.'; };
    const std::string_view digits = take(text, is_digit);
    const auto count = digits.ends_with('.') || digits.starts_with('.') ? std::nullopt : number(digits);
    take(text, [](char each) { return kSpace.find(each) != kSpace.npos; });
    const std::string word(take(text, [](char each) { return each >= 'a' && each <= 'z'; }));
    const auto* unit = std::ranges::find(kUnits, word, &Unit::word);
    if (!count || unit == std::end(kUnits) || unit->seconds >= last) return std::nullopt;
    sum += *count * unit->seconds;
    last = unit->seconds;
    take(text, [](char each) { return kSpace.find(each) != kSpace.npos; });
  }
  return sum;
}

// "1-12:30:00": without days, the last of two parts is seconds; after days, the first part is hours. Rejects a number
// alone.
std::optional<double> as_slurm_writes(std::string_view text) {
  const auto dash = text.find('-');
  const bool has_days = dash != text.npos;
  double sum = 0;
  if (has_days) {
    const auto days = whole(text.substr(0, dash));
    if (!days) return std::nullopt;
    sum = *days * kDay;
    text.remove_prefix(dash + 1);
    if (text.empty()) return sum;  // as sbatch does
  }
  std::vector<double> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    const auto part = whole(text.substr(begin, end - begin));
    if (!part) return std::nullopt;
    parts.push_back(*part);
    begin = end + 1;
  }
  if (parts.size() > 3 || (parts.size() == 1 && !has_days)) return std::nullopt;
  double worth = has_days || parts.size() == 3 ? kHour : kMinute;
  for (const double part : parts) {
    sum += part * worth;
    worth /= 60;
  }
  return sum;
}

}  // namespace

std::optional<double> duration_s(std::string_view text) {
  const std::string low = lowered(trimmed(text));
  const auto seconds = with_units(low);
  return seconds ? seconds : as_slurm_writes(low);
}

std::optional<double> time_limit_s(std::string_view text) {
  const std::string low = lowered(trimmed(text));
  if (low == "infinite" || low == "unlimited" || low == "-1") return std::numeric_limits<double>::infinity();
  if (const auto minutes = whole(low)) return *minutes * kMinute;
  return duration_s(low);
}

}  // namespace pounce
