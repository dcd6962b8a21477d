#include "pounced/net/listening_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/face_address.h"

namespace pounce::daemon {
namespace {

constexpr int kInLine = 256;  // connections that wait to be accepted: the kernel's line

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

std::optional<Address> numeric(std::string host, std::uint16_t port) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *list = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(list, ::freeaddrinfo);
  Address address;
  std::memcpy(&address.bytes, list->ai_addr, list->ai_addrlen);
  address.size = list->ai_addrlen;
  return address;
}

std::string endpoint_of(int fd) {
  Address own;
  own.size = sizeof own.bytes;
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  auto* const bytes = reinterpret_cast<sockaddr*>(&own.bytes);
  if (::getsockname(fd, bytes, &own.size) != 0 ||
      ::getnameinfo(bytes, own.size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  const std::string name = own.bytes.ss_family == AF_INET6 ? "[" + std::string(host) + "]" : std::string(host);
  return "tcp://" + name + ":" + port;
}

// An empty one: errno says why.
ListeningSocket listen_on(const Address& address) {
  ListeningSocket listening;
  UniqueFd fd(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;  // the connections of a daemon that just ended do not hold the port
  if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) != 0 || ::listen(fd.get(), kInLine) != 0)
    return listening;
  listening.endpoint = endpoint_of(fd.get());
  listening.fd = std::move(fd);
  return listening;
}

}  // namespace

Result<ListeningSocket> listen_at(const std::string& host, const std::optional<PortRange>& ports) {
  std::string named = host;
  if (!numeric(host, 0)) {
    const auto address = address_of_interface(host);
    if (!address) return failure(address.error());
    named = *address;
  }
  const unsigned first = ports ? ports->first : 0, count = ports ? ports->second - ports->first + 1u : 1;
  for (unsigned tried = 0; tried < count; ++tried) {
    const unsigned port = first + (static_cast<unsigned>(::getpid()) + tried) % count;
    ListeningSocket listening = listen_on(*numeric(named, static_cast<std::uint16_t>(port)));
    if (listening.fd) return listening;
    if (errno != EADDRINUSE) break;
  }
  return failure(ErrorCode::kInternal, "cannot listen at " + host + ": " + std::strerror(errno));
}

}  // namespace pounce::daemon
