#include "base/network.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace pounce {
namespace {

constexpr char kDiscardPort[] = "9";

Result<std::string> own_end(const UniqueFd& socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  char text[NI_MAXHOST];
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
    return failure(ErrorCode::kInternal, "this machine cannot tell its own address");
  return own.ss_family == AF_INET6 ? "[" + std::string(text) + "]" : std::string(text);
}

}  // namespace

Result<std::string> address_facing(const std::string& host) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (const int why = ::getaddrinfo(host.c_str(), kDiscardPort, &hints, &list); why != 0)
    return failure(ErrorCode::kInternal, host + " has no address: " + ::gai_strerror(why));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(list, ::freeaddrinfo);
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    const UniqueFd socket(::socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (socket && ::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0) return own_end(socket);
  }
  return failure(ErrorCode::kInternal, "there is no route to " + host + ": " + std::strerror(errno));
}

Result<std::string> address_of_interface(const std::string& name) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return failure(ErrorCode::kInternal, "this machine cannot tell its own addresses");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> addresses(list, ::freeifaddrs);
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
      if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != family || name != at->ifa_name) continue;
      const auto size = static_cast<socklen_t>(family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
      char text[NI_MAXHOST];
      if (::getnameinfo(at->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) continue;
      return family == AF_INET ? std::string(text) : "[" + std::string(text) + "]";
    }
  return failure(ErrorCode::kInternal, "this machine has no interface " + name + " with an address",
                 "Ask the admin to correct \"interface\" in the site's policy.");
}

namespace {

std::string endpoint_of(int fd) {
  SocketAddress own;
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  if (::getsockname(fd, own.pointer(), &own.size) != 0 ||
      ::getnameinfo(own.pointer(), own.size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) !=
          0)
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

void end_when_silent(int tcp, std::chrono::seconds silence) {
  const auto set = [tcp](int level, int option, int value) { ::setsockopt(tcp, level, option, &value, sizeof value); };
  const Probes probes = probes_within(silence);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, probes.pause_s);
  set(IPPROTO_TCP, TCP_KEEPINTVL, probes.pause_s);
  set(IPPROTO_TCP, TCP_KEEPCNT, probes.number);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(std::chrono::milliseconds(silence).count()));
}

}  // namespace pounce
