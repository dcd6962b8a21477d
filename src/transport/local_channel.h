// The two ends of the connection between a worker and its own user's processes on its machine (docs/protocol.md, "The
// local channel"): the client's channel and the worker's server. Thread: the leader token's holder.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/curve_key.h"
#include "base/unique_fd.h"
#include "transport/channel.h"
#include "transport/event_loop.h"
#include "transport/local_stream.h"
#include "transport/router_socket.h"

namespace pounce::transport {

// An abstract Unix address made from the worker's public key: a process that was introduced to the worker knows it,
// and one that shares no network namespace with the worker finds nothing there. The kernel says which user is at the
// other end. Thread: any.
struct LocalAddress {
  sockaddr_un address{};
  socklen_t size = 0;
};

LocalAddress local_address(const PublicKey& worker);
bool of_our_user(int fd);  // whether the connected or listening process is our user's

class LocalChannel final : public Channel {
 public:
  // Null: no worker listens there, or one of another user. Does not block.
  static std::unique_ptr<LocalChannel> connect(const PublicKey& worker, std::size_t max_frame_bytes);

  std::optional<Message> receive() override;
  Sent send(Message& frames) override;
  void flush() override { stream_.flush(); }
  std::optional<Link> link_event() override;
  bool ready(bool to_send) override;
  int fd() const override { return stream_.fd(); }
  bool unsent() const override { return stream_.unsent(); }
  bool passes_memory() const override { return true; }
  bool gathers() const override { return true; }

 private:
  explicit LocalChannel(LocalStream stream) : stream_(std::move(stream)) {}

  LocalStream stream_;
  std::optional<Message> next_;
  bool told_connected_ = false, told_lost_ = false;
};

// A peer that is not of our user is closed without a byte. The same sort of messages as from a RouterSocket, but a
// peer has no key: its first message says which session it is of.
class LocalServer {
 public:
  // Null: this machine has no such addresses.
  static std::unique_ptr<LocalServer> listen(const PublicKey& own, std::size_t max_frame_bytes);

  static bool is_route(const std::string& route);  // of a LocalServer, not of a RouterSocket
  void add_to(PollSet& polled);
  void accept_waiting(const PollSet& polled);  // after polling
  std::optional<Received> receive();           // non-blocking
  Sent send(const std::string& route, Message& frames);
  void flush();  // also cuts a peer that has read nothing for long
  void cut(const std::string& route);

 private:
  LocalServer(UniqueFd listener, std::size_t max_frame_bytes)
      : listener_(std::move(listener)), max_frame_bytes_(max_frame_bytes) {}

  UniqueFd listener_;
  const std::size_t max_frame_bytes_;
  std::map<std::string, LocalStream> streams_;
  std::uint64_t accepted_ = 0;
  std::optional<std::size_t> polled_as_;
  TimePoint deaf_until_{};  // the process has no descriptor left: accept nothing until then
  std::string last_heard_;  // streams are read in rotation
};

}  // namespace pounce::transport
