#include "tls/socket_bytes.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace pounce::tls {

SocketBytes::Result SocketBytes::read_ahead() {
  const std::size_t most = trusted_ ? kAhead : kUntrusted;
  if (most > ahead_capacity_) ahead_memory_.reset(new char[ahead_capacity_ = most]);
  const std::size_t room = trusted_ ? most : most - static_cast<std::size_t>(came_);
  if (room == 0) return Result::kEnd;
  ssize_t got;
  do {
    got = ::recv(socket_.get(), ahead_memory_.get(), room, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Result::kLater;
  if (got <= 0) return Result::kEnd;
  ahead_begin_ = 0;
  ahead_end_ = static_cast<std::size_t>(got);
  came_ += ahead_end_;
  return Result::kDone;
}

// Shuts down first: a child that a task has forked may hold the descriptor, and the other end would see no end.
void SocketBytes::close() {
  if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
  socket_.reset();
}

SocketBytes::Result SocketBytes::receive(std::span<char> into, std::size_t& count) {
  if (ahead_begin_ == ahead_end_)
    if (const Result result = read_ahead(); result != Result::kDone) return result;
  count = std::min(into.size(), ahead_end_ - ahead_begin_);
  std::memcpy(into.data(), ahead_memory_.get() + ahead_begin_, count);
  ahead_begin_ += count;
  return Result::kDone;
}

void SocketBytes::gather(std::span<const char> bytes) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ + bytes.size() > capacity_) {
    capacity_ = std::max(end_ + bytes.size(), 2 * capacity_);
    std::unique_ptr<char[]> larger(new char[capacity_]);
    std::copy_n(memory_.get() + begin_, end_ - begin_, larger.get());
    end_ -= std::exchange(begin_, 0);
    memory_ = std::move(larger);
  }
  std::memcpy(memory_.get() + end_, bytes.data(), bytes.size());
  end_ += bytes.size();
}

SocketBytes::Result SocketBytes::send() {
  while (unsent()) {
    const ssize_t gone = ::send(socket_.get(), memory_.get() + begin_, end_ - begin_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (gone < 0 && errno == EINTR) continue;
    if (gone < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Result::kLater;
    if (gone <= 0) return Result::kEnd;
    begin_ += static_cast<std::size_t>(gone);
    went_ += static_cast<std::uint64_t>(gone);
  }
  return Result::kDone;
}

}  // namespace pounce::tls
