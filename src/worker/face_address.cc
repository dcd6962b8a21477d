#include "worker/face_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/unique_fd.h"

namespace pounce::worker {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr char kAnyPort[] = "9";  // discard; nothing is sent

std::string without_brackets(const std::string& host) {
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

Result<std::string> local_name(int fd) {
  sockaddr_storage local{};
  socklen_t size = sizeof(local);
  char text[NI_MAXHOST] = "";
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&local), size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0)
    return failure(ErrorCode::kInternal, "this machine does not tell its own address");
  return local.ss_family == AF_INET6 ? "[" + std::string(text) + "]" : std::string(text);
}

}  // namespace

Result<std::string> address_facing(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(without_brackets(host).c_str(), kAnyPort, &hints, &found); code != 0)
    return failure(ErrorCode::kInternal, "no address of '" + host + "': " + ::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  const UniqueFd fd(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0)
    return failure(ErrorCode::kInternal, "no route to " + host + ": " + std::strerror(errno));
  return local_name(fd.get());
}

std::string host_of(const std::string& tcp_endpoint) {
  if (!tcp_endpoint.starts_with(kTcp)) return {};
  const auto colon = tcp_endpoint.rfind(':');
  if (colon <= kTcp.size()) return {};
  return tcp_endpoint.substr(kTcp.size(), colon - kTcp.size());
}

}  // namespace pounce::worker
