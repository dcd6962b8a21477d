#include "device/device_name.h"

#include <charconv>

namespace pounce::device {
namespace {

constexpr std::string_view kHost = "host", kCuda = "cuda";

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<DeviceName> DeviceName::parse(std::string_view word) {
  const std::size_t colon = word.find(':');
  const std::string_view kind = word.substr(0, colon);
  const auto number = colon == std::string_view::npos ? std::optional(std::uint32_t{0}) : number_of(word.substr(colon + 1));
  if (number && kind == kCuda) return DeviceName{Kind::kCuda, Ordinal{*number}};
  if (number && kind == kHost) return DeviceName{Kind::kHost, Ordinal{*number}};
  return failure(ErrorCode::kBadRequest, "there is no device \"" + std::string(word) + "\"",
                 "Devices are \"cuda\", \"cuda:1\" for a worker's second GPU, and \"host\".");
}

std::string DeviceName::text() const {
  return std::string(kind == Kind::kCuda ? kCuda : kHost) + ":" + std::to_string(which.value);
}

}  // namespace pounce::device
