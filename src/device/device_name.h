// The name of a device as users write it: "cuda", "cuda:1", "host". Pure.
#pragma once

#include <string>
#include <string_view>

#include "device/driver.h"

namespace pounce::device {

struct DeviceName {
  enum class Kind : std::uint8_t { kHost, kCuda };

  Kind kind = Kind::kHost;
  Ordinal which{};  // among those that the process sees

  static Result<DeviceName> parse(std::string_view word);
  std::string text() const;  // with its number: "cuda:0"

  friend auto operator<=>(const DeviceName&, const DeviceName&) = default;
};

}  // namespace pounce::device
