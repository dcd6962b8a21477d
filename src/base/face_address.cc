#include "base/face_address.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/unique_fd.h"

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

}  // namespace pounce
