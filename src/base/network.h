// This machine on the network: its name, the addresses at which others reach it, and sockets that listen there. Thread:
// any.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "pounce/error.h"

namespace pounce {

// This machine as it calls itself.
inline std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

// The local address that packets to a host leave from: the one place where that host can reach us. Found by connecting
// a datagram socket, which sends nothing. May wait for a name server.

// host: a numeric address or a name. An IPv6 answer carries brackets, ready for "tcp://ADDRESS:PORT".
Result<std::string> address_facing(const std::string& host);
// The first address of the named interface, IPv4 before IPv6.
Result<std::string> address_of_interface(const std::string& name);

// A TCP socket that listens, and addresses as sockets take them.
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

// Probes of a silent TCP connection, the first of them after one pause: one whose other host is gone ends, and no
// process is woken for one that stands.
struct Probes {
  int pause_s, number;
};
constexpr Probes probes_within(std::chrono::seconds silence) {
  return {std::max(1, static_cast<int>(silence.count()) / 3), 2};
}
void end_when_silent(int tcp, std::chrono::seconds silence);

}  // namespace pounce
