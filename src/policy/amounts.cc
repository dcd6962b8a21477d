#include "policy/amounts.h"

#include <charconv>
#include <cmath>

#include "base/durations.h"
#include "pounce/resources.h"

namespace pounce::policy {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t worth;
};
constexpr Unit kTimes[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};  // largest first
constexpr Unit kMemories[] = {{"GB", 1024}, {"MB", 1}};

template <std::size_t N>
std::optional<std::uint64_t> amount(std::string_view text, const Unit (&units)[N], std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc{}) return std::nullopt;
  for (const Unit& one : units)
    if (unit == one.name && number <= most / one.worth) return number * one.worth;
  return std::nullopt;
}

// nullopt also if the time is not a multiple of `unit` seconds, or longer than any request may be.
std::optional<std::chrono::seconds> whole(std::optional<double> seconds, int unit) {
  const bool is_possible = seconds && *seconds <= static_cast<double>(std::chrono::seconds(kMostTime).count());
  if (!is_possible || std::fmod(*seconds, unit) != 0) return std::nullopt;
  return std::chrono::seconds(static_cast<std::int64_t>(*seconds));
}

}  // namespace

std::optional<std::chrono::seconds> duration_from(std::string_view text) { return whole(duration_s(text), 1); }

std::optional<std::chrono::minutes> minutes_from(std::string_view text) {
  const auto seconds = whole(time_limit_s(text), 60);
  if (!seconds) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::minutes>(*seconds);
}

std::string duration_text(std::chrono::seconds time) {
  const auto seconds = static_cast<std::uint64_t>(time.count());
  for (const Unit& unit : kTimes)
    if (seconds > 0 && seconds % unit.worth == 0) return std::to_string(seconds / unit.worth) + std::string(unit.name);
  return "0s";
}

std::optional<std::uint64_t> mib_from(std::string_view text) { return amount(text, kMemories, kMostMemoryMib); }

std::string memory_text(std::uint64_t mib) {
  return mib % 1024 == 0 ? std::to_string(mib / 1024) + "GB" : std::to_string(mib) + "MB";
}

std::optional<std::uint32_t> cuda_from(std::string_view text) {
  std::uint32_t major = 0, minor = 0;
  const char* end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, major);
  if (read.ec == std::errc{} && read.ptr != end && *read.ptr == '.') read = std::from_chars(read.ptr + 1, end, minor);
  if (read.ec != std::errc{} || read.ptr != end || major == 0 || major > 999 || minor > 99) return std::nullopt;
  return major * 1000 + minor * 10;
}

std::string cuda_text(std::uint32_t cuda) {
  return std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
}

std::optional<std::pair<std::uint16_t, std::uint16_t>> ports_from(std::string_view text) {
  std::uint16_t first = 0, last = 0;
  const char* end = text.data() + text.size();
  const auto dash = std::from_chars(text.data(), end, first);
  if (dash.ec != std::errc{} || dash.ptr == end || *dash.ptr != '-') return std::nullopt;
  const auto rest = std::from_chars(dash.ptr + 1, end, last);
  if (rest.ec != std::errc{} || rest.ptr != end || first < 1024 || first > last) return std::nullopt;
  return std::pair(first, last);
}

}  // namespace pounce::policy
