// `pounced ensure` finds this instance's daemon or starts one, and waits for its endpoint. `pounced where` says what a
// start here would use.

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "base/file_io.h"
#include "pounced/leases/site_policy.h"
#include "pounced/net/endpoint.h"
#include "pounced/startup/commands.h"
#include "pounced/startup/folders.h"
#include "pounced/startup/instance.h"
#include "pounced/startup/setup.h"
#include "pounced/startup/spawn.h"
#include "pounced/startup/start_lock.h"
#include "pounced/storage/file.h"
#include "protocol/codec.h"

namespace pounce::daemon {
namespace {

constexpr std::chrono::milliseconds kLookForDaemon{20};  // between two looks for a daemon that another process starts
constexpr std::chrono::seconds kStartSlack{10};          // beyond the one Slurm request that a start makes
constexpr std::size_t kLogLines = 10, kReportedLogBytes = 8 * 1024;

std::vector<std::string> serve_command(const CommandLine& command, const Setup& setup) {
  std::vector<std::string> argv = {this_program(), "serve", "--detached", "--outer-job",
                                   std::to_string(setup.scope.outer_job)};
  if (!setup.config.path.empty()) argv.insert(argv.end(), {"--config", setup.config.path});
  if (!command.launcher.empty()) argv.insert(argv.end(), {"--launcher", command.launcher});
  argv.insert(argv.end(), {"--state-folder", setup.config.state_folder});
  return argv;
}

std::string last_lines(const std::string& path) {
  const std::string text = read_end(path, kReportedLogBytes);
  std::size_t from = text.size();
  for (std::size_t line = 0; line <= kLogLines && from != std::string::npos && from > 0; ++line)
    from = text.rfind('\n', from - 1);
  return from == std::string::npos || from == 0 ? text : text.substr(from + 1);
}

// The daemon's report about its start; empty: it ended without one, or the time is over.
std::string read_report(const UniqueFd& pipe, TimePoint deadline) {
  std::string line;
  char buffer[4096];
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd readable{pipe.get(), POLLIN, 0};
    if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) == 0) return {};
    const ssize_t n = ::read(pipe.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return line;
    line.append(buffer, static_cast<std::size_t>(n));
  }
}

Error start_error(const std::string& report, const Folders& folders) {
  Error error{ErrorCode::kDaemonUnavailable, "pounced did not start: see " + folders.log(), {}, {}};
  const auto failure = nlohmann::json::parse(report, nullptr, false);
  if (failure.is_object()) {
    error.code = error_code_from_wire(failure.value("code", ""));
    error.text = failure.value("text", "");
    error.remedy = failure.value("remedy", "");
    error.context = failure.value("context", std::map<std::string, std::string>());
  }
  error.context["log"] = folders.log();
  error.context["last_lines"] = last_lines(folders.log());
  return error;
}

struct Waited {
  std::optional<protocol::EndpointFile> endpoint;
  std::optional<std::string> report;  // of the awaited start that failed
};

// Waits while the lock's holder lives and has not published yet.
Waited wait_for_endpoint(const Folders& folders, TimePoint deadline) {
  std::optional<LockOwner> starter;
  while (Clock::now() < deadline) {
    if (auto endpoint = live_endpoint(folders)) return {endpoint, {}};
    const auto holder = StartLock::holder(folders.lock());
    if (!holder) break;
    starter = holder;
    std::this_thread::sleep_for(kLookForDaemon);
  }
  return {{}, starter ? start_failure_of(folders, *starter) : std::nullopt};
}

}  // namespace

Result<protocol::EndpointFile> ensure_daemon(const CommandLine& command, bool start) {
  const auto setup = set_up(command);
  if (!setup) return failure(setup.error());
  const Folders& folders = setup->folders;
  const auto takes = setup->config.times.slurm_request + kStartSlack;
  const TimePoint deadline = Clock::now() + takes;
  if (auto endpoint = setup->live ? setup->live : live_endpoint(folders)) return *endpoint;
  if (!start)
    return failure(ErrorCode::kDaemonUnavailable, "no pounced runs here", "It is started by the first client.");
  std::string report;
  do {
    auto waited = wait_for_endpoint(folders, deadline);
    if (waited.endpoint) return *waited.endpoint;
    if (waited.report) return failure(start_error(*waited.report, folders));
    if (const auto made = make_folders(folders); !made) return failure(made.error());
    const auto pipe = spawn_detached(serve_command(command, *setup), folders.log());
    if (!pipe) return failure(pipe.error());
    // A deadline of its own, because another start may have used part of ours.
    report = read_report(*pipe, Clock::now() + takes);
  } while ((report == "ready" || report == "another") && Clock::now() < deadline);
  return failure(start_error(report, folders));
}

namespace {

using nlohmann::json;

std::string_view word(SlurmFound found) {
  constexpr std::string_view kWords[] = {"nothing", "file", "configless"};
  return kWords[static_cast<int>(found)];
}

// Lists names, each with a space behind it.
void add_old_folders(json& document, const Setup& setup) {
  std::string gone, elsewhere, open;
  for (const auto& [name, state] : look_at_others(setup.folders, setup.scope)) {
    if (state == FolderState::kGone || state == FolderState::kFresh) gone += name + " ";
    if (state == FolderState::kElsewhere) elsewhere += name + " ";
    if (state == FolderState::kOpenLeases) open += name + " ";
  }
  document["folders_gone"] = gone;
  document["folders_elsewhere"] = elsewhere;
  document["folders_open"] = open;
}

void add_setup(json& document, const Setup& setup) {
  document["launcher"] = word(setup.launcher);
  document["notice"] = setup.notice;
  document["cluster"] = setup.scope.cluster;
  document["instance"] = setup.instance.hex();
  document["config"] = setup.config.path;
  document["policy"] = setup.launcher == LauncherKind::kSlurm ? policy_path(setup.config) : "";
  document["state_folder"] = setup.folders.state;
  document["parked"] = setup.folders.saved_states();
  document["runtime_folder"] = setup.folders.runtime;
  document["log"] = setup.folders.log();
  document["leases"] = setup.folders.leases();
  document["pounce_slurm"] = setup.config.pounce_slurm;
  document["pounce_worker"] = setup.config.pounce_worker;
  document["advertise_address"] = setup.config.advertise_address;
}

}  // namespace

Whereabouts whereabouts(const CommandLine& command, bool folders, const SlurmPlaces& places) {
  const SlurmSource slurm = find_slurm(places);
  json document = {{"slurm", word(slurm.found)}, {"slurm_conf", slurm.path}, {"state_base", default_state_folder()}};
  const auto setup = set_up(command, places);
  if (setup) add_setup(document, *setup);
  if (setup && folders) add_old_folders(document, *setup);
  if (!setup) document["error"] = json::parse(protocol::encode_error(setup.error()));
  return {document.dump(-1, ' ', false, json::error_handler_t::replace), setup.has_value()};
}

}  // namespace pounce::daemon
