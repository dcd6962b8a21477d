// The public C++ client: an engine, and what it reported of each command. Only the calls below drain its events.
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "base/network.h"
#include "base/overloaded.h"
#include "base/process.h"
#include "base/random_id.h"
#include "client/client.h"
#include "identity/content_digest.h"
#include "messages/put_words.h"
#include "pounce/client.h"
#include "pounce/version.h"
#include "protocol/codec.h"
#include "protocol/state_files.h"

namespace pounce {
namespace {

// A cancelled command has three seconds between SIGTERM and SIGKILL (python/pounce/_worker/interpreter.py); then its
// worker is ended.
constexpr std::chrono::seconds kGrace{10};

Result<protocol::EndpointFile> ensure_daemon() {
  const auto answer = output_of({.command = {"pounced", "ensure"}});
  if (!answer) return failure(ErrorCode::kDaemonUnavailable, answer.error().text);
  if (answer->wait_status != 0)
    return failure(ErrorCode::kDaemonUnavailable, "pounced ensure failed: " + answer->output);
  return protocol::decode_endpoint_file(answer->output);
}

client::Setup setup_of(const Client::Options& options) {
  client::Setup setup;
  setup.session = {random_id<SessionId>(),
                   static_cast<std::uint32_t>(::getpid()),
                   host_name(),
                   std::filesystem::current_path().string(),
                   options.interpreter,
                   client::travelling(environ)};
  setup.attach.session = setup.session.session;
  setup.attach.pounce = kVersion;
  return setup;
}

}  // namespace

struct Client::Impl {
  struct Progress {  // of one command
    TaskId task;
    std::string output;
    std::optional<Result<int>> end;
  };

  explicit Impl(const Options& options) : engine(setup_of(options)) {}

  Progress* of(const TaskId& task) {
    for (Progress& one : commands)
      if (one.task == task) return &one;
    return nullptr;
  }
  void take(std::vector<client::Event> events);
  void take(client::Ended& ended);
  void connect_to_daemon();
  Result<int> wait(std::size_t number, TimePoint deadline);

  client::Client engine;
  std::vector<Progress> commands;
};

void Client::Impl::take(std::vector<client::Event> events) {
  for (client::Event& one : events) {
    std::visit(Overloaded{[&](const client::Printed& printed) {
                            if (Progress* command = of(printed.task)) command->output += printed.text;
                          },
                          [&](client::Ended& ended) { take(ended); },
                          [&](const client::DaemonNeeded&) { connect_to_daemon(); },
                          [](const auto&) {}},  // what a command does not ask for
               one);
  }
}

void Client::Impl::connect_to_daemon() {
  const auto endpoint = ensure_daemon();
  static_cast<void>(engine.with_engine([&](client::Engine& one) {
    if (!endpoint) return one.daemon_failed(endpoint.error());
    static_cast<void>(one.set_daemon(*endpoint));
  }));
}

void Client::Impl::take(client::Ended& ended) {
  Progress* command = of(ended.task);
  if (command == nullptr) return;
  messages::put_words(ended.error);  // its receiver has no catalogue of sentences
  const auto bytes = ended.pickle.bytes;
  command->end = ended.ok ? protocol::decode_exit_code({reinterpret_cast<const char*>(bytes.data()), bytes.size()})
                          : Result<int>(failure(std::move(ended.error)));
}

Result<int> Client::Impl::wait(std::size_t number, TimePoint deadline) {
  while (!commands[number].end) {
    auto waited = engine.wait(commands[number].task, deadline, [] { return false; });
    if (!waited) return failure(std::move(waited.error()));
    take(engine.drain_waited());
    if (!commands[number].end && Clock::now() >= deadline)
      return failure(ErrorCode::kTimeout, "The command has not ended in time; it goes on.");
  }
  return *commands[number].end;
}

// ---- the public side ----------------------------------------------------------------------------------------------

Client::Client(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() {
  if (impl_ != nullptr) impl_->engine.close();
}

Result<Client> Client::start(Options options) {
  const auto endpoint = ensure_daemon();
  if (!endpoint) return failure(endpoint.error());
  Client client(std::make_shared<Impl>(options));
  if (auto set = client.impl_->engine.with_engine([&](client::Engine& engine) { return engine.set_daemon(*endpoint); });
      !set)
    return failure(std::move(set.error()));
  return client;
}

Result<Command> Client::command(const std::vector<std::string>& argv, const Resources& resources) {
  if (argv.empty()) return failure(ErrorCode::kBadRequest, "A command needs at least the program's name.");
  client::Call call;
  call.task = random_id<TaskId>();
  call.resources = resources;
  call.command = true;
  call.function_pickle = own_bytes(protocol::encode_command(argv));
  call.function = FunctionId(identity::content_digest(call.function_pickle.bytes));
  call.payload = {own_bytes({})};
  call.submitted_ns = Clock::now().time_since_epoch().count();
  impl_->commands.push_back({call.task, {}, std::nullopt});
  if (auto submitted =
          impl_->engine.with_engine([&](client::Engine& engine) { return engine.submit(std::move(call)); });
      !submitted)
    return failure(std::move(submitted.error()));
  return Command(impl_, impl_->commands.size() - 1);
}

Command::Command(std::shared_ptr<Client::Impl> client, std::size_t number)
    : client_(std::move(client)), number_(number) {}

Result<int> Command::wait(std::chrono::milliseconds timeout) { return client_->wait(number_, Clock::now() + timeout); }

std::string Command::output() const {
  client_->take(client_->engine.drain());
  return client_->commands[number_].output;
}

void Command::cancel() {
  // A client that was closed has ended it already.
  static_cast<void>(client_->engine.with_engine(
      [&](client::Engine& engine) { engine.cancel(client_->commands[number_].task, kGrace, false); }));
}

}  // namespace pounce
