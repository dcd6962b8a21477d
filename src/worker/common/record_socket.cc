#include "worker/common/record_socket.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::worker {

RecordSocket::RecordSocket(UniqueFd fd) : fd_(std::move(fd)), reader_(protocol::kControlMessageBytes) {
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
  ::fcntl(fd_.get(), F_SETFD, FD_CLOEXEC);
}

void RecordSocket::fill() {
  char buffer[16 * 1024];
  while (open()) {
    const ssize_t got = ::recv(fd_.get(), buffer, sizeof(buffer), 0);
    if (got > 0)
      reader_.append({buffer, static_cast<std::size_t>(got)});
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
      open_ = false;
    else if (errno == EAGAIN)
      return;
  }
}

std::optional<protocol::Header> RecordSocket::next() {
  auto record = reader_.next();
  if (!record) open_ = false;
  if (!record || !*record) return std::nullopt;
  auto header = protocol::decode(**record, protocol::kControlMessageBytes);
  if (header) return std::move(*header);
  open_ = false;
  return std::nullopt;
}

void RecordSocket::send(const protocol::Header& header) {
  outgoing_ += protocol::frame_record(protocol::encode(header));
  flush();
}

void RecordSocket::flush() {
  while (open() && !outgoing_.empty()) {
    const ssize_t sent = ::send(fd_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (sent > 0)
      outgoing_.erase(0, static_cast<std::size_t>(sent));
    else if (errno == EAGAIN)
      return;
    else if (errno != EINTR)
      open_ = false;
  }
}

}  // namespace pounce::worker
