// A listening TCP socket, and socket addresses. Thread: any.
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

// host: "10.77.0.1", "fd00::1" or "[fd00::1]"; no name service is used. nullopt: not a numeric address.
std::optional<SocketAddress> numeric_address(const std::string& host, unsigned port);

struct ListeningSocket {
  UniqueFd fd;           // accepts without blocking
  std::string endpoint;  // "tcp://10.77.0.1:50017"
};

// host: a numeric address ("10.77.0.1", "[fd00::1]") or the name of an interface. Takes the first free port of a
// range; the pid decides where the search starts, because many processes of a node search at once. Takes any port
// without a range. in_line: the kernel's backlog of connections to accept.
Result<ListeningSocket> listen_at(const std::string& host, const std::optional<PortRange>& ports, int in_line);

}  // namespace pounce
