#include "pouncectl/daemon_link.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/random_id.h"
#include "identity/keys.h"
#include "pounce/version.h"
#include "pouncectl/program.h"
#include "protocol/codec.h"
#include "protocol/limits.h"
#include "transport/context.h"
#include "transport/dealer_socket.h"
#include "transport/poll_set.h"

namespace pounce::ctl {
namespace {

using transport::DealerSocket;
using transport::Frame;
using transport::Message;

Result<std::unique_ptr<DealerSocket>> open_socket(transport::Context& context, const KeyPair& keys,
                                                  const PublicKey& server, const std::string& endpoint) {
  transport::ClientOptions options;
  options.max_frame_bytes = protocol::kHallMessageBytes;
  return DealerSocket::connect(context, keys, server, options, endpoint);
}

// Sends as soon as the connection stands, then waits for one message whose header can be read.
Result<protocol::Header> exchange(DealerSocket& socket, const protocol::Header& question, bool with_proof_frame,
                                  TimePoint deadline) {
  bool sent = false;
  transport::PollSet poll;
  while (Clock::now() < deadline) {
    if (!sent) {
      Message message;
      message.push_back(Frame::copy(protocol::encode(question)));
      if (with_proof_frame) message.emplace_back();
      sent = socket.send(message) == transport::Sent::kYes;
    }
    while (auto event = socket.link_event())
      if (*event == transport::Link::kRefused)
        return failure(ErrorCode::kNotAuthenticated, "pounced did not accept this program's key");
    if (auto answer = socket.receive()) return protocol::decode(answer->front().text(), protocol::kHallMessageBytes);
    poll.clear();
    poll.add_socket(socket.handle(), !sent);
    poll.add_socket(socket.monitor_handle());
    poll.wait(deadline);
  }
  return failure(ErrorCode::kTimeout, "pounced did not answer in time");
}

Result<protocol::Welcome> enter(DealerSocket& door, const KeyPair& keys, TimePoint deadline) {
  protocol::Hello hello;
  hello.key = transport::to_z85(keys.public_key);
  hello.session = random_id<SessionId>().hex();
  hello.version = kVersion;
  const auto answer = exchange(door, hello, true, deadline);
  if (!answer) return failure(answer.error());
  if (const auto* refused = std::get_if<protocol::Refused>(&*answer)) return failure(refused->error);
  if (const auto* welcome = std::get_if<protocol::Welcome>(&*answer); welcome != nullptr && !welcome->hall.empty())
    return *welcome;
  return failure(ErrorCode::kProtocol, "pounced answered hello with something else");
}

std::string ipc_door(const protocol::EndpointFile& daemon) {
  for (const std::string& door : daemon.door)
    if (door.starts_with("ipc://")) return door;
  return {};
}

}  // namespace

Result<protocol::EndpointFile> find_daemon() {
  const std::string text = output_of({sibling("pounced"), "ensure", "--no-start"});
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object()) return failure(ErrorCode::kDaemonUnavailable, "pounced could not be asked where it runs");
  if (!document.contains("error")) return protocol::decode_endpoint_file(text);
  const auto& error = document["error"];
  return failure(
      Error{error_code_from_wire(error.value("code", "")), error.value("text", ""), error.value("remedy", ""), {}});
}

Result<protocol::Header> ask(const protocol::EndpointFile& daemon, const protocol::Header& question,
                             std::chrono::milliseconds patience) {
  const TimePoint deadline = Clock::now() + patience;
  const auto server = transport::from_z85(daemon.key);
  if (!server) return failure(ErrorCode::kProtocol, "the endpoint file holds no key");
  transport::Context context;
  const KeyPair keys = identity::make_key_pair();
  auto door = open_socket(context, keys, *server, ipc_door(daemon));
  if (!door) return failure(door.error());
  const auto welcome = enter(**door, keys, deadline);
  if (!welcome) return failure(welcome.error());
  auto hall = open_socket(context, keys, *server, welcome->hall.front());
  if (!hall) return failure(hall.error());
  return exchange(**hall, question, false, deadline);
}

Result<std::string> ask_status() {
  const auto daemon = find_daemon();
  if (!daemon) return failure(daemon.error());
  const auto answer = ask(*daemon, protocol::StatusAsk{1});
  if (!answer) return failure(answer.error());
  const auto* told = std::get_if<protocol::StatusIs>(&*answer);
  if (told == nullptr || !nlohmann::json::accept(told->document))
    return failure(ErrorCode::kProtocol, "pounced answered something else");
  return told->document;
}

}  // namespace pounce::ctl
