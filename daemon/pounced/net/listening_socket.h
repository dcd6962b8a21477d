// A TCP socket that listens. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce::daemon {

using PortRange = std::pair<std::uint16_t, std::uint16_t>;

struct ListeningSocket {
  UniqueFd fd;           // accepts without blocking
  std::string endpoint;  // "tcp://10.77.0.1:50017"
};

// host: a numeric address ("10.77.0.1", "[fd00::1]") or the name of an interface. Of a range the first free port, from a
// place of our own on: many processes of a node look at once. Without one any port.
Result<ListeningSocket> listen_at(const std::string& host, const std::optional<PortRange>& ports);

}  // namespace pounce::daemon
