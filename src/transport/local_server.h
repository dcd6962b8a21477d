// Where a worker receives from its own user's processes on its machine. A peer of another user is closed without a
// byte. Messages are as from a RouterSocket, but a peer has no key: its first message names its session. Thread: the
// one that owns the leader token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/curve_key.h"
#include "base/unique_fd.h"
#include "transport/local_stream.h"
#include "transport/poll_set.h"
#include "transport/router_socket.h"

namespace pounce::transport {

class LocalServer {
 public:
  // Null: this machine has no such addresses.
  static std::unique_ptr<LocalServer> listen(const PublicKey& own, std::size_t max_frame_bytes);

  static bool is_route(const std::string& route);  // of a LocalServer, not of a RouterSocket
  void add_to(PollSet& polled);
  void accept_waiting(const PollSet& polled);  // after polling
  std::optional<Received> receive();  // non-blocking
  Sent send(const std::string& route, Message& frames);
  void flush();  // also cuts a peer that has read nothing for long
  void cut(const std::string& route);

 private:
  LocalServer(UniqueFd listener, std::size_t max_frame_bytes) : listener_(std::move(listener)), max_frame_bytes_(max_frame_bytes) {}

  UniqueFd listener_;
  const std::size_t max_frame_bytes_;
  std::map<std::string, LocalStream> streams_;
  std::uint64_t accepted_ = 0;
  std::optional<std::size_t> polled_as_;
  TimePoint deaf_until_{};  // the process has no descriptor left: accept nothing until then
  std::string last_heard_;  // streams are read in rotation
};

}  // namespace pounce::transport
