// Starting `pounced serve`, and how its starter and the other waiting starters learn how that went.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "base/unique_fd.h"
#include "pounce/error.h"
#include "pounced/startup/folders.h"
#include "pounced/startup/start_lock.h"

namespace pounce::daemon {

// The start: nothing ties the daemon to its starter. It has its own session, inherits no descriptor but the report
// pipe, writes standard output and error to the log, has a clean environment, and is not our child. Thread: main.

// The variables that a daemon may see: of a job those that identify it, for its workers; no secrets of a shell.
Environment daemon_environment();

// Returns the report pipe's reading end once the program runs. End of file without a line means that the daemon died.
Result<UniqueFd> spawn_detached(const std::vector<std::string>& command, const std::string& log_path);

// The one line by which a starting daemon tells its starter how it went: on a pipe that both sides know by its
// descriptor's number, closed right after. Nothing else of the starter's is inherited. Thread: main.
class StartReport {
 public:
  static constexpr int kDescriptor = 3;

  StartReport() = default;  // no starter waits: `serve` was started by hand
  explicit StartReport(UniqueFd pipe) : pipe_(std::move(pipe)) {}

  void ready() { tell("ready"); }
  void another_runs() { tell("another"); }
  void failed(const Error& error);

 private:
  void tell(std::string_view line);
  UniqueFd pipe_;
};

// Why a start failed, for those who waited for it: the line of StartReport, in a file beside the lock, under the owner
// record of the process that failed. They are told the same at once, instead of starting one after another into the
// same trouble. Best effort: where the file cannot be written, the next one tries by itself. Thread: any.
void leave_start_failure(const Folders& folders, const LockOwner& starter, std::string_view report);
// Returns the report that this starter left; nullopt: none.
std::optional<std::string> start_failure_of(const Folders& folders, const LockOwner& starter);

}  // namespace pounce::daemon
