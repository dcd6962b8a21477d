#include "tls/tcp_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

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
  const std::string_view host = endpoint.substr(kScheme.size(), colon - kScheme.size()),
                         ports = endpoint.substr(colon + 1);
  Named named{std::string(host)};
  if (ports == "*") return named;
  const auto dash = ports.find('-');
  const bool good = read_port(ports.substr(0, dash), named.first) &&
                    read_port(dash == std::string_view::npos ? ports : ports.substr(dash + 1), named.last) &&
                    named.first <= named.last;
  return good ? std::optional(named) : std::nullopt;
}

}  // namespace

Result<ListeningSocket> listen_at(const std::string& endpoint) {
  const auto named = read(endpoint);
  if (!named || !numeric_address(named->host, 0))
    return failure(ErrorCode::kInternal, endpoint + " is no address to listen at");
  const PortRange ports(named->first, named->last);
  return pounce::listen_at(named->host, named->first == 0 ? std::nullopt : std::optional(ports), kInLine);
}

Result<UniqueFd> begin_to_connect(const std::string& endpoint) {
  const auto named = read(endpoint);
  auto address = named && named->first == named->last && named->first > 0 ? numeric_address(named->host, named->first)
                                                                          : std::nullopt;
  if (!address) return failure(ErrorCode::kInternal, endpoint + " is no address to connect to");
  UniqueFd fd(::socket(address->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;  // no Nagle: the bytes have been gathered already
  if (!fd || ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
      (::connect(fd.get(), address->pointer(), address->size) != 0 && errno != EINPROGRESS))
    return failure(ErrorCode::kInternal, "cannot connect to " + endpoint + ": " + std::strerror(errno));
  return fd;
}

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
