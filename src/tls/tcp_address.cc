#include "tls/tcp_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

namespace pounce::tls {
namespace {

constexpr int kInLine = 64;  // connections that wait to be accepted: the kernel's line

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = sizeof bytes;
  sockaddr* pointer() { return reinterpret_cast<sockaddr*>(&bytes); }
};

struct Named {
  std::string host;  // without brackets
  unsigned first = 0, last = 0;
};

bool read_port(std::string_view text, unsigned& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port < 65536;
}

std::optional<Named> read(std::string_view endpoint) {
  constexpr std::string_view kScheme = "tcp://";
  const auto colon = endpoint.rfind(':');
  if (!endpoint.starts_with(kScheme) || colon == std::string_view::npos || colon < kScheme.size()) return std::nullopt;
  std::string_view host = endpoint.substr(kScheme.size(), colon - kScheme.size()), ports = endpoint.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  Named named{std::string(host)};
  if (ports == "*") return named;
  const auto dash = ports.find('-');
  const bool good = read_port(ports.substr(0, dash), named.first) &&
                    read_port(dash == std::string_view::npos ? ports : ports.substr(dash + 1), named.last) && named.first <= named.last;
  return good ? std::optional(named) : std::nullopt;
}

std::optional<Address> numeric(const std::string& host, unsigned port) {
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
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  if (::getsockname(fd, own.pointer(), &own.size) != 0 ||
      ::getnameinfo(own.pointer(), own.size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  const std::string name = own.bytes.ss_family == AF_INET6 ? "[" + std::string(host) + "]" : std::string(host);
  return "tcp://" + name + ":" + port;
}

UniqueFd new_socket(const Address& address) {
  return UniqueFd(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

Listening listen_on(Address address) {  // an empty one: errno says why
  UniqueFd fd = new_socket(address);
  const int on = 1;  // the connections of a worker that just ended do not hold the port
  if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(fd.get(), address.pointer(), address.size) != 0 || ::listen(fd.get(), kInLine) != 0)
    return {};
  std::string endpoint = endpoint_of(fd.get());
  return {std::move(fd), std::move(endpoint)};
}

}  // namespace

Result<Listening> listen_at(const std::string& endpoint) {
  const auto named = read(endpoint);
  const auto address = named ? numeric(named->host, 0) : std::nullopt;
  if (!address) return failure(ErrorCode::kInternal, endpoint + " is no address to listen at");
  const unsigned count = named->last - named->first + 1, start = static_cast<unsigned>(::getpid()) % count;
  for (unsigned tried = 0; tried < count; ++tried) {  // many processes of a node look at once
    const auto one = numeric(named->host, named->first + (start + tried) % count);
    Listening listening = listen_on(*one);
    if (listening.fd) return listening;
    if (errno != EADDRINUSE) break;
  }
  return failure(ErrorCode::kInternal, "cannot listen at " + endpoint + ": " + std::strerror(errno));
}

Result<UniqueFd> begin_to_connect(const std::string& endpoint) {
  const auto named = read(endpoint);
  auto address = named && named->first == named->last && named->first > 0 ? numeric(named->host, named->first) : std::nullopt;
  if (!address) return failure(ErrorCode::kInternal, endpoint + " is no address to connect to");
  UniqueFd fd = new_socket(*address);
  const int on = 1;  // what is worth sending has been gathered already
  if (!fd || ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
      (::connect(fd.get(), address->pointer(), address->size) != 0 && errno != EINPROGRESS))
    return failure(ErrorCode::kInternal, "cannot connect to " + endpoint + ": " + std::strerror(errno));
  return fd;
}

}  // namespace pounce::tls
