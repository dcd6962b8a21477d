#include "tls/tcp_address.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace pounce::tls {
namespace {

constexpr int kInLine = 64;  // connections that wait to be accepted: the kernel's backlog

struct Named {
  std::string host;
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
  const std::string_view host = endpoint.substr(kScheme.size(), colon - kScheme.size()), ports = endpoint.substr(colon + 1);
  Named named{std::string(host)};
  if (ports == "*") return named;
  const auto dash = ports.find('-');
  const bool good = read_port(ports.substr(0, dash), named.first) &&
                    read_port(dash == std::string_view::npos ? ports : ports.substr(dash + 1), named.last) && named.first <= named.last;
  return good ? std::optional(named) : std::nullopt;
}

}  // namespace

Result<ListeningSocket> listen_at(const std::string& endpoint) {
  const auto named = read(endpoint);
  if (!named || !numeric_address(named->host, 0)) return failure(ErrorCode::kInternal, endpoint + " is no address to listen at");
  const PortRange ports(named->first, named->last);
  return pounce::listen_at(named->host, named->first == 0 ? std::nullopt : std::optional(ports), kInLine);
}

Result<UniqueFd> begin_to_connect(const std::string& endpoint) {
  const auto named = read(endpoint);
  auto address = named && named->first == named->last && named->first > 0 ? numeric_address(named->host, named->first) : std::nullopt;
  if (!address) return failure(ErrorCode::kInternal, endpoint + " is no address to connect to");
  UniqueFd fd(::socket(address->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;  // no Nagle: the bytes have been gathered already
  if (!fd || ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
      (::connect(fd.get(), address->pointer(), address->size) != 0 && errno != EINPROGRESS))
    return failure(ErrorCode::kInternal, "cannot connect to " + endpoint + ": " + std::strerror(errno));
  return fd;
}

}  // namespace pounce::tls
