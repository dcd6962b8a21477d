// What this process, which is one end or both, has open: how many bytes took which way, and a way to cut them all.
#pragma once

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace pounce::lanes {

inline std::vector<int> open_descriptors() {
  std::vector<int> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    all.push_back(std::atoi(entry.path().filename().c_str()));
  return all;
}

// Of memory that one end hands to the other, or takes for what it receives.
inline std::uint64_t object_memory(const std::string& process = "self") {
  std::uint64_t bytes = 0;
  std::error_code gone;
  struct stat facts{};
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + process + "/fd", gone))
    if (std::filesystem::read_symlink(entry, gone).string().starts_with("/memfd:pounce-object") &&
        ::stat(entry.path().c_str(), &facts) == 0)
      bytes += static_cast<std::uint64_t>(facts.st_blocks) * 512;
  return bytes;
}

struct Connection {  // one end of it
  int fd = -1;
  bool local = false;  // a worker's Unix socket
  std::uint16_t from = 0, to = 0;
};

inline std::uint16_t port_of(const sockaddr_storage& address) {
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

inline bool of_a_worker(const sockaddr_storage& address) {
  return std::string(reinterpret_cast<const sockaddr_un&>(address).sun_path + 1).starts_with("pounce-worker/");
}

inline std::vector<Connection> connections() {
  std::vector<Connection> all;
  for (const int fd : open_descriptors()) {
    sockaddr_storage own{}, peer{};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
        ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0)
      continue;
    if (own.ss_family == AF_INET) all.push_back({fd, false, port_of(own), port_of(peer)});
    if (own.ss_family == AF_UNIX && (of_a_worker(own) || of_a_worker(peer))) all.push_back({fd, true, 0, 0});
  }
  return all;
}

// Received by both ends over the connections that stand, to and from this port, or all others.
inline std::uint64_t received_bytes(std::uint16_t port, bool others) {
  std::uint64_t bytes = 0;
  for (const Connection& one : connections()) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (one.local || (one.from == port || one.to == port) == others) continue;
    if (::getsockopt(one.fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) bytes += info.tcpi_bytes_received;
  }
  return bytes;
}

// Of all that this process has, by whichever end it is: what has come, and what the other end's kernel has of it.
inline std::uint64_t carried_bytes() {
  std::uint64_t bytes = 0;
  for (const Connection& one : connections()) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (!one.local && ::getsockopt(one.fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
      bytes += info.tcpi_bytes_received + info.tcpi_bytes_acked;
  }
  return bytes;
}

inline std::size_t cut_connections() {
  const auto all = connections();
  for (const Connection& one : all) ::shutdown(one.fd, SHUT_RDWR);
  return all.size();
}

}  // namespace pounce::lanes
