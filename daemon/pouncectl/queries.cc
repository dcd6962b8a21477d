// What pouncectl asks others: sibling programs, pounce-slurm, this instance's pounced.

#include "pouncectl/queries.h"

#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/overloaded.h"
#include "base/process.h"
#include "base/random_id.h"
#include "control/control_connection.h"
#include "identity/proof.h"
#include "messages/put_words.h"
#include "slurm/helper_process.h"
#include "slurm/slurm_gateway.h"
#include "transport/event_loop.h"
#include "transport/zmq_context.h"

namespace pounce::ctl {

std::string own_folder() {
  std::error_code ignored;  // without /proc exec gets the bare name and fails with a clear error
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

std::string sibling(const std::string& program) { return (std::filesystem::path(own_folder()) / program).string(); }

std::string output_of(const std::vector<std::string>& argv, bool with_errors) {
  auto finished = pounce::output_of({.command = argv}, with_errors);
  return finished ? std::move(finished->output) : std::string();
}

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The state folder below `base` with the newest log, among all instances of all clusters.
fs::path newest_below(const fs::path& base) {
  fs::path newest;
  fs::file_time_type when{};
  std::error_code hidden;  // an unreadable folder has no log for us
  for (const auto& cluster : fs::directory_iterator(base, hidden))
    for (const auto& instance : fs::directory_iterator(cluster, hidden)) {
      const auto written = fs::last_write_time(instance.path() / "pounced.log", hidden);
      if (hidden || (!newest.empty() && written < when)) continue;
      newest = instance.path();
      when = written;
    }
  return newest;
}

}  // namespace

Result<fs::path> state_folder() {
  const json where = json::parse(output_of({sibling("pounced"), "where"}), nullptr, false);
  if (!where.is_object())
    return failure(ErrorCode::kDaemonUnavailable, "pounced could not be asked where its files are");
  const fs::path own = where.value("state_folder", "");
  std::error_code absent;
  if (!own.empty() && fs::exists(own / "pounced.log", absent)) return own;
  const fs::path base = own.empty() ? fs::path(where.value("state_base", "")) : own.parent_path().parent_path();
  const fs::path newest = newest_below(base);
  if (newest.empty())
    return failure(ErrorCode::kDaemonUnavailable, "no pounced has run here: there is no log below " + base.string(),
                   "It is started by the first client.");
  return newest;
}

namespace {

slurm::GatewayOptions options(bool admin) {
  slurm::GatewayOptions options;
  options.program = slurm::find_helper(own_folder());
  options.admin = admin;
  // Each QoS takes 0.1 s; a slurmdbd that has just restarted takes some seconds; a day of jobs with their steps more.
  options.request_deadline = std::chrono::seconds(admin ? 300 : 10);
  for (const char* name : {"SLURM_CONF", "SLURM_CONF_SERVER", "HOME", "PATH"})
    if (const char* value = std::getenv(name)) options.environment[name] = value;
  return options;
}

}  // namespace

SlurmConversation::SlurmConversation(bool admin) : gateway_(std::make_unique<slurm::SlurmGateway>(options(admin))) {}
SlurmConversation::~SlurmConversation() = default;

Result<std::any> SlurmConversation::answer_to(slurm::Question question) {
  std::optional<Result<std::any>> answer;
  gateway_->send(std::move(question), [&](Result<std::any> reply) { answer = std::move(reply); });
  while (!answer) {
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(gateway_->next_deadline() - Clock::now()).count();
    pollfd readable{gateway_->fd(), POLLIN, 0};
    ::poll(&readable, 1, static_cast<int>(std::clamp<std::int64_t>(wait, 1, 1000)));
    if (readable.revents != 0) gateway_->on_readable();
    gateway_->on_time(Clock::now());
  }
  return std::move(*answer);
}

namespace {

// Opens no session, so there are no beats: the query is the first message, and its answer the last.
control::Manner manner(const protocol::Header& question, std::chrono::milliseconds patience) {
  control::Manner manner{.hello = {}, .patience = {patience}, .first = question};
  manner.hello.session = random_id<SessionId>().hex();
  return manner;
}

// nullopt: the event is not an answer.
using Answer = std::optional<Result<protocol::Header>>;
Answer answer_in(control::Event& event) {
  return std::visit(Overloaded{[](const control::Opened&) -> Answer { return std::nullopt; },
                               [](control::Lost& lost) -> Answer { return failure(std::move(lost.error)); },
                               [](control::Refused& refused) -> Answer { return failure(std::move(refused.error)); },
                               [](control::Unreadable& unknown) -> Answer { return failure(std::move(unknown.error)); },
                               [](protocol::Header& header) -> Answer {
                                 if (std::holds_alternative<protocol::Beat>(header)) return std::nullopt;
                                 std::visit([](auto& answer) { messages::put_words(answer); }, header);
                                 return std::move(header);
                               }},
                    event);
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
