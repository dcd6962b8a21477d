// Parses "tcp://10.0.0.1:5555". Thread: any.
#pragma once

#include <string>

namespace pounce::worker {

// The host without an IPv6 address's brackets; empty if it is no tcp endpoint.
inline std::string host_of(const std::string& endpoint) {
  constexpr char kTcp[] = "tcp://";
  constexpr std::size_t kPrefix = sizeof(kTcp) - 1;
  const auto colon = endpoint.rfind(':');
  if (!endpoint.starts_with(kTcp) || colon == std::string::npos || colon <= kPrefix) return {};
  const std::string host = endpoint.substr(kPrefix, colon - kPrefix);
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

}  // namespace pounce::worker
