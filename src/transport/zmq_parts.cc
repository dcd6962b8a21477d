#include "transport/zmq_parts.h"

#include <optional>

namespace pounce::transport {
namespace {
constexpr std::size_t kPartsMax = 1024 + 1;  // protocol/limits.h kFramesPerMessage and a routing frame
}

std::optional<Message> receive_message(zmq::socket_t& socket) {
  Message frames;
  bool too_many = false;
  for (bool more = true; more;) {
    Frame frame;
    if (!socket.recv(frame.impl().message, zmq::recv_flags::dontwait)) return std::nullopt;
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
  if (route != nullptr &&
      !socket.send(zmq::buffer(*route), zmq::send_flags::dontwait | zmq::send_flags::sndmore))
    return false;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto more = i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
    if (!socket.send(frames[i].impl().message, zmq::send_flags::dontwait | more)) return false;
  }
  frames.clear();
  return true;
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
