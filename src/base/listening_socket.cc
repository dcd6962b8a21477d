#include "base/listening_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/face_address.h"

namespace pounce {
namespace {

std::string endpoint_of(int fd) {
  SocketAddress own;
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  if (::getsockname(fd, own.pointer(), &own.size) != 0 ||
      ::getnameinfo(own.pointer(), own.size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  const std::string name = own.bytes.ss_family == AF_INET6 ? "[" + std::string(host) + "]" : std::string(host);
  return "tcp://" + name + ":" + port;
}

// Without a descriptor on failure; errno tells why.
ListeningSocket listen_on(SocketAddress address, int in_line) {
  ListeningSocket listening;
  UniqueFd fd(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;  // connections of a process that just ended must not block the port
  if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(fd.get(), address.pointer(), address.size) != 0 || ::listen(fd.get(), in_line) != 0)
    return listening;
  listening.endpoint = endpoint_of(fd.get());
  listening.fd = std::move(fd);
  return listening;
}

}  // namespace

std::optional<SocketAddress> numeric_address(const std::string& host, unsigned port) {
  const bool in_brackets = host.starts_with('[') && host.ends_with(']');
  const std::string number = in_brackets ? host.substr(1, host.size() - 2) : host;
  addrinfo hints{}, *list = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(number.c_str(), std::to_string(port).c_str(), &hints, &list) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(list, ::freeaddrinfo);
  SocketAddress address;
  std::memcpy(&address.bytes, list->ai_addr, list->ai_addrlen);
  address.size = list->ai_addrlen;
  return address;
}

Result<ListeningSocket> listen_at(const std::string& host, const std::optional<PortRange>& ports, int in_line) {
  std::string named = host;
  if (!numeric_address(host, 0)) {
    const auto address = address_of_interface(host);
    if (!address) return failure(address.error());
    named = *address;
  }
  const unsigned first = ports ? ports->first : 0, count = ports ? ports->second - ports->first + 1u : 1;
  for (unsigned tried = 0; tried < count; ++tried) {
    const unsigned port = first + (static_cast<unsigned>(::getpid()) + tried) % count;
    ListeningSocket listening = listen_on(*numeric_address(named, port), in_line);
    if (listening.fd) return listening;
    if (errno != EADDRINUSE) break;
  }
  return failure(ErrorCode::kInternal, "cannot listen at " + host + ": " + std::strerror(errno));
}

}  // namespace pounce
