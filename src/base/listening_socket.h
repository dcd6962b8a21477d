// A TCP socket that listens, and addresses as sockets take them. Thread: any.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce {

using PortRange = std::pair<std::uint16_t, std::uint16_t>;

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = sizeof bytes;
  sockaddr* pointer() { return reinterpret_cast<sockaddr*>(&bytes); }
};

// host: "10.77.0.1", "fd00::1" or "[fd00::1]"; no name service is asked. nullopt: it is no number.
std::optional<SocketAddress> numeric_address(const std::string& host, unsigned port);

struct ListeningSocket {
  UniqueFd fd;           // accepts without blocking
  std::string endpoint;  // "tcp://10.77.0.1:50017"
};

// host: a numeric address ("10.77.0.1", "[fd00::1]") or the name of an interface. Of a range the first free port, from a
// place of our own on: many processes of a node look at once. Without one any port.
// in_line: connections that wait to be accepted, in the kernel.
Result<ListeningSocket> listen_at(const std::string& host, const std::optional<PortRange>& ports, int in_line);

}  // namespace pounce
