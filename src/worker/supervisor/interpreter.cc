#include "worker/supervisor/interpreter.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <sstream>

#include "base/process.h"
#include "base/text.h"

namespace pounce::worker {
namespace {

// The child's descriptors: supervisor, output, errors, log, page and, where there is one, the pipe of reports, in the
// order that python/pounce/_worker expects.
constexpr char kInherited[] = "3,4,5,6,7", kReports[] = ",8";
constexpr int kReportsFd = 8;

tl::unexpected<Error> no_interpreter(const char* what) {
  return failure(ErrorCode::kInternal,
                 std::string("cannot start the interpreter: ") + what + ": " + std::strerror(errno));
}

// pounce-report lies beside this program. Last, so that it hides no program of the user's.
void find_our_programs(Environment& environment) {
  std::error_code unknown;
  const std::string folder = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path().string();
  const auto path = environment.find("PATH");
  if (folder.empty() || path == environment.end() || path->second.empty()) return;
  if ((":" + path->second + ":").find(":" + folder + ":") == std::string::npos) path->second += ":" + folder;
}

Environment environment_for(const InterpreterPlan& plan) {
  Environment environment = plan.environment;
  environment["POUNCE_SUPERVISOR_FD"] = std::string(kInherited) + (plan.report_fd >= 0 ? kReports : "");
  if (plan.report_fd >= 0) environment["POUNCE_REPORT"] = plan.report_pipe;
  find_our_programs(environment);
  environment["POUNCE_FACING"] = plan.facing;
  environment["POUNCE_INTERFACE"] = plan.interface;
  environment["POUNCE_PORTS"] = plan.ports;
  environment["POUNCE_NODE"] = plan.node;
  environment["POUNCE_DEVICES"] = plan.devices;
  environment["POUNCE_STATE"] = plan.state;
  environment["POUNCE_LEASE"] = plan.lease;
  environment["POUNCE_WORKERS"] = std::to_string(plan.workers);
  // A pounce.py in the notebook's directory must not hide ours; the interpreter removes this again.
  environment["PYTHONSAFEPATH"] = "1";
  environment["PYTHONUNBUFFERED"] = "1";  // live output, also of user code's own children
  return environment;
}

}  // namespace

Result<std::unique_ptr<Interpreter>> Interpreter::start(const InterpreterPlan& plan) {
  auto sockets = make_socket_pair();  // ours, theirs
  if (!sockets) return no_interpreter("socketpair");
  auto output = make_pipe(), errors = make_pipe();
  if (!output || !errors) return no_interpreter("pipe");
  auto page_fd = RunPage::make();
  if (!page_fd) return failure(std::move(page_fd.error()));
  auto page = RunPage::map(page_fd->get());
  if (!page) return failure(std::move(page.error()));

  Program program{.command = plan.command};
  program.environment = environment_for(plan);
  program.descriptors = {{STDOUT_FILENO, output->writer.get()},
                         {STDERR_FILENO, errors->writer.get()},
                         {3, sockets->writer.get()},
                         {4, output->reader.get()},
                         {5, errors->reader.get()},
                         {6, plan.log_fd},
                         {7, page_fd->get()}};
  if (plan.report_fd >= 0) program.descriptors[kReportsFd] = plan.report_fd;
  program.standing = Standing::kOwnGroup;  // signals for the supervisor's group do not reach user code
  program.death_signal = SIGKILL;          // no interpreter outlives its supervisor
  program.file_mask = 022;                 // a login's; of a local worker ours is pounced's, which hides files
  program.before_exec = [&plan](pid_t pid) -> Result<void> {
    if (::prlimit(pid, RLIMIT_CORE, &plan.core_limit, nullptr) != 0) return no_interpreter("the core file's limit");
    return {};
  };
  const auto pid = start_process(program);
  if (!pid) return failure(pid.error());
  return std::unique_ptr<Interpreter>(new Interpreter(*pid, std::move(sockets->reader), std::move(output->reader),
                                                      std::move(errors->reader), std::move(*page)));
}

Interpreter::Interpreter(pid_t pid, UniqueFd socket, UniqueFd output, UniqueFd errors, RunPage page)
    : pid_(pid),
      socket_(std::move(socket)),
      output_(std::move(output)),
      errors_(std::move(errors)),
      page_(std::move(page)) {}

std::string Interpreter::last_words() {
  std::string words;
  for (const UniqueFd* fd : {&output_, &errors_}) {
    ::fcntl(fd->get(), F_SETFL, ::fcntl(fd->get(), F_GETFL) | O_NONBLOCK);
    char buffer[16 * 1024];
    for (ssize_t got; (got = ::read(fd->get(), buffer, sizeof(buffer))) > 0;)
      words.append(buffer, static_cast<std::size_t>(got));
  }
  return words;
}

namespace {

constexpr char kOurLogMark[] = " pounce-worker ";  // base/log.cc: "<time> <level> <program> <text>"
constexpr std::size_t kTimeChars = 23;

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

bool is_our_log_line(const std::string& line) {
  return line.size() > kTimeChars && line[4] == '-' && line[10] == 'T' &&
         line.find(kOurLogMark, kTimeChars) != std::string::npos;
}

Cause cause(const Death& death) {
  const std::string& node = death.node;
  if (death.killed_for_memory)
    return {.code = CauseCode::kWorkerMemory,
            .number = static_cast<std::uint32_t>(death.memory_limit.value_or(0) >> 20),
            .node = node};
  if (death.gave_up) return {.code = CauseCode::kTaskDidNotStop, .node = node};
  if (!death.was_ready) return {.code = CauseCode::kDidNotStart, .node = node, .said = death.command};
  if (WIFSIGNALED(death.wait_status)) {
    const int signal = WTERMSIG(death.wait_status);
    return {.code = CauseCode::kDiedOfSignal, .node = node, .word = signal_name(signal), .said = ::strsignal(signal)};
  }
  return {.code = CauseCode::kEndedItself,
          .number = static_cast<std::uint32_t>(WEXITSTATUS(death.wait_status)),
          .node = node};
}

ErrorCode code(const Death& death) {
  if (death.gave_up) return ErrorCode::kCancelled;
  return death.killed_for_memory ? ErrorCode::kOutOfMemory : ErrorCode::kWorkerCrashed;
}

}  // namespace

Error death_report(const Death& death) {
  Error error = death.unfit ? *death.unfit : error_of(code(death), cause(death));
  error.context["node"] = death.node;
  error.context["last_lines"] = death.last_lines;
  if (WIFSIGNALED(death.wait_status)) {
    error.signal = WTERMSIG(death.wait_status);
    error.context["signal"] = std::to_string(*error.signal);
    error.context["signal_name"] = signal_name(*error.signal);
  } else {
    error.exit_code = WEXITSTATUS(death.wait_status);
    error.context["exit_code"] = std::to_string(*error.exit_code);
  }
  if (death.memory_limit) error.context["memory_limit_mib"] = std::to_string(*death.memory_limit >> 20);
  error.context["running"] = death.running ? death.running->hex() : "";
  return error;
}

std::string tail_of(const std::string& text, std::size_t lines, std::size_t bytes) {
  std::deque<std::string> kept;
  std::size_t size = 0;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (is_our_log_line(line)) continue;
    if (line.size() > bytes) line.erase(0, line.size() - bytes);
    size += line.size() + 1;
    kept.push_back(std::move(line));
    while (kept.size() > lines || size > bytes + 1) {
      size -= kept.front().size() + 1;
      kept.pop_front();
    }
  }
  std::string tail;
  for (const std::string& line : kept) tail += (tail.empty() ? "" : "\n") + line;
  return tail;
}

}  // namespace pounce::worker
