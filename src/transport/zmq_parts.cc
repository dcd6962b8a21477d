#include "transport/zmq_parts.h"

#include <atomic>
#include <charconv>

namespace pounce::transport {
namespace {

constexpr std::size_t kPartsMax = 1024 + 1;  // protocol/message_limits.h kFramesPerMessage and a routing frame

bool send_part(zmq::socket_t& socket, zmq::message_t& part, bool more) {
  const auto flags = zmq::send_flags::dontwait | (more ? zmq::send_flags::sndmore : zmq::send_flags::none);
  return through_signals([&] { return socket.send(part, flags); }).has_value();
}

}  // namespace

std::optional<Message> receive_message(zmq::socket_t& socket) {
  Message frames;
  bool too_many = false;
  for (bool more = true; more;) {
    Frame frame;
    const auto size = through_signals([&] { return socket.recv(frame.impl().message, zmq::recv_flags::dontwait); });
    if (!size) return std::nullopt;
    more = frame.impl().message.more();
    if (frames.size() < kPartsMax)
      frames.push_back(std::move(frame));
    else
      too_many = true;
  }
  if (too_many) frames.clear();
  return frames;
}

bool send_message(zmq::socket_t& socket, const std::string* route, Message& frames) {
  if (route != nullptr) {
    zmq::message_t address(route->data(), route->size());
    if (!send_part(socket, address, true)) return false;
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const bool taken = send_part(socket, frames[i].impl().message, i + 1 < frames.size());
    // A later part is refused when the connection broke between the two; libzmq then swallows what is left of this
    // message (lb.cpp). It is lost like any that was on its way, and must not be tried again without its first part.
    if (!taken && i == 0 && route == nullptr) return false;
  }
  frames.clear();
  return true;
}

std::optional<std::string> property(zmq::message_t& message, const char* name) {
  const char* value = zmq_msg_gets(message.handle(), name);
  if (value == nullptr) return std::nullopt;
  return value;
}

// A TCP peer's address is numeric, so that no name service can make one look local.
std::optional<unsigned> uid_of(std::string_view address) {
  constexpr std::string_view kLocal = "localhost:";
  if (!address.starts_with(kLocal)) return std::nullopt;
  address.remove_prefix(kLocal.size());
  unsigned uid = 0;
  const char* const stop = address.data() + address.size();
  const auto [end, error] = std::from_chars(address.data(), stop, uid);
  if (error != std::errc() || end == stop || *end != ':') return std::nullopt;
  return uid;
}

std::string unused_monitor_name() {
  static std::atomic<std::uint64_t> opened = 0;
  return "inproc://monitor-" + std::to_string(++opened);
}

void set_keys(zmq::socket_t& socket, const KeyPair& keys) {
  const auto& secret = keys.secret_key.bytes();
  socket.set(zmq::sockopt::curve_publickey, zmq::buffer(keys.public_key.bytes));
  socket.set(zmq::sockopt::curve_secretkey, zmq::buffer(secret));
}

Result<void> guarded(ErrorCode code, const std::string& what, const std::function<void()>& act) {
  try {
    act();
    return {};
  } catch (const zmq::error_t& error) {
    return failure(code, what + ": " + error.what());
  }
}

}  // namespace pounce::transport
