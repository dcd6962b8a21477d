// The ZeroMQ helpers that this module's .cc files share. Never included from outside src/transport.
#pragma once

#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <zmq.hpp>

#include "base/curve_key.h"
#include "pounce/error.h"
#include "transport/frame.h"
#include "transport/zmq_context.h"

namespace pounce::transport {

struct Frame::Impl {
  zmq::message_t message;
  std::shared_ptr<memory::MemoryBlock> block;
};

zmq::context_t& zmq_context(Context& context);

// Every part of the next message, or nothing. A message of more than kFramesPerMessage parts is read and dropped.
std::optional<Message> receive_message(zmq::socket_t& socket);

// As ZeroMQ's options take times.
inline int milliseconds(std::chrono::milliseconds duration) { return static_cast<int>(duration.count()); }

// False when the first part would block; then `frames` is untouched.
bool send_message(zmq::socket_t& socket, const std::string* route, Message& frames);

// A property that libzmq and ZAP put on what came in ("User-Id", "Peer-Address"); nothing when it is not there.
std::optional<std::string> property(zmq::message_t& message, const char* name);

// The kernel's word about a peer on ipc, whose address is "localhost:<uid>:<gid>:<pid>"; nothing for any other
// address.
std::optional<unsigned> uid_of(std::string_view address);

// Never the same name twice: the name of a closed monitor is freed only some time later.
std::string unused_monitor_name();

// libzmq returns EINTR even from a call that does not wait, when a signal interrupts its mailbox check; cppzmq makes
// that an exception. The interpreter's main thread is interrupted by signals on purpose: here they mean nothing.
template <class Call>
auto through_signals(const Call& call) {
  while (true) {
    try {
      return call();
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) throw;
    }
  }
}

void set_keys(zmq::socket_t& socket, const KeyPair& keys);

// Of ClientOptions or ServerOptions: sizes and times. A send never waits.
template <class Options>
void set_limits(zmq::socket_t& socket, const Options& options) {
  socket.set(zmq::sockopt::maxmsgsize, static_cast<int64_t>(options.max_frame_bytes));
  socket.set(zmq::sockopt::handshake_ivl, milliseconds(options.handshake));
  socket.set(zmq::sockopt::sndhwm, options.high_water_mark);
  socket.set(zmq::sockopt::rcvhwm, options.high_water_mark);
  socket.set(zmq::sockopt::sndtimeo, 0);
  if (options.heartbeat.count() > 0) {
    socket.set(zmq::sockopt::heartbeat_ivl, milliseconds(options.heartbeat));
    socket.set(zmq::sockopt::heartbeat_timeout, milliseconds(options.heartbeat_timeout));
    socket.set(zmq::sockopt::heartbeat_ttl, milliseconds(options.heartbeat_timeout));
  }
}

// Runs `act`; a zmq::error_t becomes an Error of `code` whose text starts with `what`.
Result<void> guarded(ErrorCode code, const std::string& what, const std::function<void()>& act);

}  // namespace pounce::transport
