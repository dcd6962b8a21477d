// What the .cc files of this module share of ZeroMQ. Never included from outside src/transport.
#pragma once

#include <functional>
#include <optional>
#include <memory>
#include <string>
#include <zmq.hpp>

#include "base/curve_key.h"
#include "pounce/result.h"
#include "transport/context.h"
#include "transport/frame.h"

namespace pounce::transport {

struct Frame::Impl {
  zmq::message_t message;
};

zmq::context_t& zmq_context(Context& context);

// Every part of the next message, or nothing. More than kFramesPerMessage parts: all are read, none is kept.
std::optional<Message> receive_message(zmq::socket_t& socket);
// kFull when the first part would block; then `frames` is untouched. ZeroMQ takes a message whole or not at all.
bool send_message(zmq::socket_t& socket, const std::string* route, Message& frames);

void set_keys(zmq::socket_t& socket, const KeyPair& keys);

// Runs `act`; a zmq::error_t becomes an Error of `code` whose text starts with `what`.
Result<void> guarded(ErrorCode code, const std::string& what, const std::function<void()>& act);

}  // namespace pounce::transport
