#include "tls/channel.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/random_id.h"
#include "tls/tcp_socket.h"

namespace pounce::tls {

// Declared in stream.h; here because stream.cc is left out where the build found no OpenSSL.
Credential make_credential() {
  Credential made{random_id<PeerId>(), {}};
  auto& bytes = made.key.bytes();
  POUNCE_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "getrandom failed");
  return made;
}

namespace {

bool is_ready(int fd, short event) {
  pollfd one{fd, event, 0};
  return ::poll(&one, 1, 0) > 0;
}

}  // namespace

Channel::Channel(std::unique_ptr<Stream> stream, const Options& options)
    : options_(options), stream_(std::move(stream)), reader_(options.max_frames, options.max_frame_bytes) {
  POUNCE_CHECK(options.max_frame_bytes > 0, "a connection needs a limit");
  began_ = came_at_ = went_at_ = Clock::now();
  was_open_ = told_open_ = stream_->state() == Stream::State::kOpen;
}

Result<std::unique_ptr<Channel>> Channel::connect(const std::string& endpoint, const Credential& own,
                                                  const Options& options) {
  if (!available()) return failure(ErrorCode::kInternal, "this build of pounce has no OpenSSL");
  auto socket = begin_to_connect(endpoint);
  if (!socket) return failure(socket.error());
  auto channel = std::make_unique<Channel>(Stream::client(std::move(*socket), own), options);
  channel->connecting_ = true;
  return channel;
}

// ---- the beginning and the end ------------------------------------------------------------------------------------

bool Channel::connected() {
  if (!connecting_) return true;
  if (!is_ready(fd(), POLLOUT)) return false;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  connecting_ = false;
  if (error != 0) stream_->close(std::strerror(error));
  return error == 0;
}

void Channel::shake_hands() {
  if (stream_->state() != Stream::State::kHandshake || !connected()) return;
  stream_->shake_hands();
  was_open_ = stream_->state() == Stream::State::kOpen;
  note_progress();
}

std::optional<Link> Channel::link_event() {
  shake_hands();
  if (was_open_ && !told_open_) {
    told_open_ = true;
    return Link::kConnected;
  }
  const bool refused = stream_->state() == Stream::State::kRefused;
  if (told_end_ || (!refused && stream_->state() != Stream::State::kLost)) return std::nullopt;
  told_end_ = true;
  return refused ? Link::kRefused : Link::kDisconnected;
}

bool Channel::ready(bool to_send) const {
  if (to_send && stream_->state() == Stream::State::kOpen && writer_.bytes() < options_.high_water_bytes) return true;
  const bool ended = stream_->state() == Stream::State::kRefused || stream_->state() == Stream::State::kLost;
  return more_ || (was_open_ && !told_open_) || (ended && !told_end_);
}

// ---- messages -----------------------------------------------------------------------------------------------------

std::optional<Message> Channel::receive() {
  shake_hands();
  std::optional<Message> message;
  std::size_t left = options_.turn_bytes;
  more_ = stream_->state() == Stream::State::kOpen;
  while (more_ && left > 0 && !message) {
    const auto place = reader_.wanted();
    const std::size_t count = stream_->read(place.first(std::min(place.size(), left)));
    more_ = count > 0;
    left -= count;
    if (count == 0) break;
    if (const auto good = reader_.took(count); !good) stream_->close(good.error().text);
    message = reader_.message();
  }
  note_progress();
  return message;
}

Sent Channel::send(Message& frames) {
  shake_hands();
  if (stream_->state() != Stream::State::kOpen || writer_.bytes() >= options_.high_water_bytes) return Sent::kFull;
  if (!sending()) went_at_ = Clock::now();
  writer_.add(std::move(frames));
  frames.clear();
  flush();
  return Sent::kYes;
}

void Channel::flush() {
  shake_hands();
  const std::uint64_t most = stream_->went() + options_.turn_bytes;
  while (stream_->fd() >= 0 && !connecting_) {
    stream_->send_out();
    if (stream_->unsent() || stream_->went() >= most || !fill()) break;
  }
  note_progress();
}

// Encrypts as much as one call to the socket takes. False: there is nothing to send.
bool Channel::fill() {
  while (!writer_.empty()) {
    if (with_this_key_ >= options_.rekey_bytes) {
      stream_->change_key();
      with_this_key_ = 0;
    }
    const std::size_t count = stream_->write(writer_.next());
    if (count == 0) break;
    with_this_key_ += count;
    writer_.took(count);
  }
  return stream_->unsent();
}

bool Channel::wants_write() const { return stream_->fd() >= 0 && (connecting_ || sending()); }

// ---- time ---------------------------------------------------------------------------------------------------------

void Channel::note_progress() {
  if (came_ == stream_->came() && went_ == stream_->went()) return;
  const TimePoint now = Clock::now();
  if (std::exchange(came_, stream_->came()) != came_) came_at_ = now;
  if (std::exchange(went_, stream_->went()) != went_) went_at_ = now;
}

TimePoint Channel::next_deadline() const {
  TimePoint deadline = TimePoint::max();
  if (stream_->state() == Stream::State::kHandshake) deadline = began_ + options_.handshake;
  if (stream_->state() != Stream::State::kOpen) return deadline;
  if (reader_.within()) deadline = came_at_ + options_.stall;
  if (sending()) deadline = std::min(deadline, went_at_ + options_.stall);
  return deadline;
}

// A jump of the clock or a late loop is no stall: check first whether the kernel has news from the other end.
void Channel::check(TimePoint now) {
  if (now < next_deadline()) return;
  if (stream_->state() == Stream::State::kHandshake) {
    shake_hands();
    if (stream_->state() == Stream::State::kHandshake) stream_->close("it took too long to connect");
    return;
  }
  if (reader_.within() && (more_ || is_ready(fd(), POLLIN))) came_at_ = now;
  if (sending() && is_ready(fd(), POLLOUT)) went_at_ = now;
  if (now >= next_deadline()) stream_->close("the other end has stopped");
}

}  // namespace pounce::tls
