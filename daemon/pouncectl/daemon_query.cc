#include "pouncectl/daemon_query.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/random_id.h"
#include "control/control_connection.h"
#include "identity/key_pair.h"
#include "messages/put_words.h"
#include "pouncectl/program.h"
#include "transport/poll_set.h"
#include "transport/zmq_context.h"

namespace pounce::ctl {
namespace {

// Opens no session, so there are no beats: the query is the first message, and its answer the last.
control::Manner manner(const protocol::Header& question, std::chrono::milliseconds patience) {
  control::Manner manner{.hello = {}, .patience = {patience}, .first = question};
  manner.hello.session = random_id<SessionId>().hex();
  return manner;
}

// nullopt: the event is not an answer.
std::optional<Result<protocol::Header>> answer_in(control::Event& event) {
  if (auto* lost = std::get_if<control::Lost>(&event)) return failure(std::move(lost->error));
  if (auto* refused = std::get_if<control::Refused>(&event)) return failure(std::move(refused->error));
  if (auto* unknown = std::get_if<control::Unreadable>(&event)) return failure(std::move(unknown->error));
  auto* header = std::get_if<protocol::Header>(&event);
  if (header == nullptr || std::holds_alternative<protocol::Beat>(*header)) return std::nullopt;
  std::visit([](auto& answer) { messages::put_words(answer); }, *header);
  return std::move(*header);
}

void wait(const transport::Descriptors& descriptors, TimePoint until) {
  transport::PollSet poll;
  for (const int fd : {descriptors.socket, descriptors.monitor})
    if (fd >= 0) poll.add_fd(fd);
  if (!descriptors.stale) poll.wait(until);
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
  const auto address = control::address_of(daemon, control::Reach::kThisMachine);
  if (!address) return failure(ErrorCode::kProtocol, "the endpoint file names no key, or no endpoint on this machine");
  transport::Context context;
  const KeyPair keys = identity::make_key_pair();
  control::ControlConnection connection(context, keys, manner(question, patience));
  connection.connect(*address, Clock::now());
  while (Clock::now() < deadline) {
    for (control::Event& event : connection.pump(Clock::now()))
      if (auto answer = answer_in(event)) return std::move(*answer);
    wait(connection.descriptors(), std::min(deadline, connection.next_deadline()));
  }
  return failure(ErrorCode::kTimeout, "pounced did not answer in time");
}

Result<std::string> ask_status() {
  const auto daemon = find_daemon();
  if (!daemon) return failure(daemon.error());
  const auto answer = ask(*daemon, protocol::StatusAsk{1});
  if (!answer) return failure(answer.error());
  const auto* status = std::get_if<protocol::StatusIs>(&*answer);
  if (status == nullptr || !nlohmann::json::accept(status->document))
    return failure(ErrorCode::kProtocol, "pounced answered something else");
  return status->document;
}

}  // namespace pounce::ctl
