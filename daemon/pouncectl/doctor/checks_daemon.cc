// The doctor about the daemon, and the address at which workers look for it.

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/network.h"
#include "base/unique_fd.h"
#include "pounce/version.h"
#include "pouncectl/doctor/doctor.h"
#include "pouncectl/queries.h"

namespace pounce::ctl {
namespace {

struct HostAndPort {
  std::string host, port;
};

// Splits "tcp://10.0.0.1:4711", without the brackets of IPv6; empty for any other endpoint.
HostAndPort host_and_port(const std::string& endpoint) {
  if (!endpoint.starts_with("tcp://")) return {};
  const auto colon = endpoint.rfind(':');
  std::string host = endpoint.substr(6, colon - 6);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return {host, endpoint.substr(colon + 1)};
}

// Connects to the address or binds a socket to it. Returns the error, or an empty text.
std::string try_address(const HostAndPort& place, int (*use)(int, const sockaddr*, socklen_t)) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int code = ::getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &list); code != 0)
    return ::gai_strerror(code);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(list, ::freeaddrinfo);
  const UniqueFd socket(::socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return use(socket.get(), list->ai_addr, list->ai_addrlen) == 0 ? "" : std::strerror(errno);
}

bool loopback(const std::string& host) { return host.starts_with("127.") || host == "::1"; }

Finding reached(const HostAndPort& place, const Facts& facts) {
  const bool far = fact(facts, "launcher") == "slurm" && !loopback(fact(facts, "controller"));
  if (far && loopback(place.host))
    return wrong("workers are told " + place.host + ", which no other host can reach",
                 "Set advertise_address in the configuration to this host's address in the cluster");
  return fine("workers find the daemon at " + place.host);
}

// The address that the daemon would advertise; used while it does not run.
std::string address_to_be(const Facts& facts) {
  if (fact(facts, "launcher") == "local") return "127.0.0.1";
  if (!fact(facts, "advertise_address").empty()) return fact(facts, "advertise_address");
  if (fact(facts, "controller").empty()) return {};
  const auto found = address_facing(fact(facts, "controller"));
  return found ? *found : std::string();
}

}  // namespace

Finding check_daemon(const Facts& facts) {
  const auto daemon = find_daemon();
  if (!daemon) {
    if (daemon.error().code == ErrorCode::kDaemonUnavailable && fact(facts, "error").empty())
      return fine("none runs; the first client starts it");
    return wrong("none can start: " + daemon.error().text, std::string(daemon.error().advice()));
  }
  const std::string name = "pounced " + daemon->version + ", pid " + std::to_string(daemon->pid);
  if (daemon->version != kVersion)
    return wrong(name + " is of another version than pouncectl, " + kVersion,
                 "kill " + std::to_string(daemon->pid) + " (running work goes on; the next client starts the new one)");
  if (const auto status = ask_status(); !status)
    return wrong(name + " does not answer: " + status.error().text,
                 "kill " + std::to_string(daemon->pid) + ", and read " + daemon->log);
  Facts found;
  for (const std::string& handshake : daemon->handshake)
    if (!host_and_port(handshake).host.empty()) found["handshake"] = handshake;
  return fine(name + ", answers", found);
}

Finding check_address(const Facts& facts) {
  if (const HostAndPort handshake = host_and_port(fact(facts, "handshake")); !handshake.host.empty()) {
    const std::string trouble = try_address(handshake, ::connect);
    if (!trouble.empty())
      return wrong("the daemon's handshake endpoint at " + handshake.host + ":" + handshake.port +
                       " cannot be reached: " + trouble,
                   "Open the firewall for it, or set advertise_address in the configuration");
    return reached(handshake, facts);
  }
  const HostAndPort own = host_and_port("tcp://" + address_to_be(facts) + ":0");
  if (own.host.empty()) return note("not known while slurmctld does not answer");
  if (const std::string trouble = try_address(own, ::bind); !trouble.empty())
    return wrong("the daemon cannot listen at " + own.host + ": " + trouble,
                 "Set advertise_address in the configuration to an address of this host");
  return reached(own, facts);
}

}  // namespace pounce::ctl
