#include "transport/local_channel.h"

#include <sys/socket.h>

#include <utility>

#include "transport/local_address.h"

namespace pounce::transport {

std::unique_ptr<LocalChannel> LocalChannel::connect(const PublicKey& worker, std::size_t max_frame_bytes) {
  const LocalAddress to = local_address(worker);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to.address), to.size) != 0 || !of_our_user(fd.get())) return nullptr;
  return std::unique_ptr<LocalChannel>(new LocalChannel(LocalStream(std::move(fd), max_frame_bytes)));
}

std::optional<Message> LocalChannel::receive() { return ready(false) ? std::exchange(next_, std::nullopt) : std::nullopt; }

Sent LocalChannel::send(Message& frames) { return stream_.send(frames) == Sent::kYes ? Sent::kYes : Sent::kFull; }

bool LocalChannel::ready(bool to_send) {
  if (!next_) next_ = stream_.receive();
  return next_ || (to_send && stream_.takes_more());
}

std::optional<Link> LocalChannel::link_event() {
  if (!std::exchange(told_connected_, true)) return Link::kConnected;
  if (!stream_.open() && !next_ && !std::exchange(told_lost_, true)) return Link::kDisconnected;
  return std::nullopt;
}

}  // namespace pounce::transport
