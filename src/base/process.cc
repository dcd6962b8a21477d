#include "base/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/threads.h"

namespace pounce {

Environment environment_of(const char* const* entries) {
  Environment environment;
  for (; *entries != nullptr; ++entries) {
    const std::string_view text(*entries);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::optional<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::optional<Pipe> make_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace pounce

extern char** environ;

namespace pounce {
namespace {

tl::unexpected<Error> cannot(const std::string& what, int error = errno) {
  return failure(ErrorCode::kInternal, "cannot " + what + ": " + std::strerror(error));
}

// Searches PATH as a shell does. A name without a match stays as it is, and exec reports the error.
std::string found(const std::string& name) {
  const char* path = std::getenv("PATH");
  if (name.find('/') != std::string::npos || path == nullptr) return name;
  std::string folders(path);
  for (std::size_t from = 0; from <= folders.size();) {
    const std::size_t to = std::min(folders.find(':', from), folders.size());
    const std::string candidate = (to == from ? "." : folders.substr(from, to - from)) + "/" + name;
    std::error_code none;
    if (::access(candidate.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(candidate, none)) return candidate;
    from = to + 1;
  }
  return name;
}

// Null-terminated, as exec needs it; valid as long as the texts are.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

struct Given {  // one of the child's descriptors
  int number, ours;
};

// Everything the child needs, made before fork: after it only plain system calls are allowed, since another of our
// threads may have held any lock.
class Child {
 public:
  Child(const Program& program, int null, const Pipe& report, const Pipe& gate);
  [[noreturn]] void run();

 private:
  void stand();
  void take_descriptors();
  void close_others();
  void close_range(int first, int last);
  [[noreturn]] void fail();

  const std::string path_;
  const std::vector<std::string> arguments_;
  std::vector<std::string> settings_;
  std::vector<char*> argv_, envp_;
  const char* const directory_;
  const Standing standing_;
  const int death_signal_;
  const std::optional<mode_t> file_mask_;
  std::vector<Given> given_;  // by number
  int above_, limit_;         // the first number without a given descriptor; the highest possible number
  int report_, gate_;
  const int gates_other_end_;
  const pid_t parent_ = ::getpid();
};

Child::Child(const Program& program, int null, const Pipe& report, const Pipe& gate)
    : path_(found(program.command.front())),
      arguments_(program.command),
      argv_(pointers_to(arguments_)),
      directory_(program.directory.empty() ? nullptr : program.directory.c_str()),
      standing_(program.standing),
      death_signal_(program.death_signal),
      file_mask_(program.file_mask),
      report_(report.writer.get()),
      gate_(gate.reader.get()),
      gates_other_end_(gate.writer.get()) {
  if (program.environment)
    for (const auto& [name, value] : *program.environment) settings_.push_back(name + "=" + value);
  envp_ = pointers_to(settings_);
  std::map<int, int> descriptors = program.descriptors;
  for (const int standard : {0, 1, 2}) descriptors.try_emplace(standard, null);
  for (const auto& [number, ours] : descriptors) given_.push_back({number, ours});
  above_ = given_.back().number + 1;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  limit_ = static_cast<int>(std::clamp<rlim_t>(files.rlim_max, 1024, 65536));
  if (!program.environment) envp_.clear();
}

void Child::run() {
  stand();
  take_descriptors();
  char opened = 0;  // end of file: the parent has gone or refused
  if (::read(gate_, &opened, 1) != 1) ::_exit(127);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (file_mask_) ::umask(*file_mask_);
  if (directory_ != nullptr && ::chdir(directory_) != 0) fail();
  ::execve(path_.c_str(), argv_.data(), envp_.empty() ? environ : envp_.data());
  fail();
}

void Child::stand() {
  if (standing_ == Standing::kOwnGroup) ::setpgid(0, 0);
  if (standing_ == Standing::kOwnSession || standing_ == Standing::kOrphan) ::setsid();
  if (standing_ == Standing::kOrphan) {
    const pid_t orphan = ::fork();
    if (orphan < 0) fail();
    if (orphan > 0) ::_exit(0);
  } else if (death_signal_ != 0) {
    ::prctl(PR_SET_PDEATHSIG, death_signal_);
    if (::getppid() != parent_) ::_exit(127);  // the parent died before prctl()
  }
}

// Moves the descriptors above all others first: any of ours may have a number that another one needs.
void Child::take_descriptors() {
  ::close(gates_other_end_);
  report_ = ::fcntl(report_, F_DUPFD_CLOEXEC, above_);
  gate_ = ::fcntl(gate_, F_DUPFD_CLOEXEC, above_);
  if (gate_ < 0) fail();
  for (Given& one : given_) one.ours = ::fcntl(one.ours, F_DUPFD_CLOEXEC, above_);
  for (const Given& one : given_)
    if (::dup2(one.ours, one.number) < 0) fail();
  close_others();
}

void Child::close_others() {
  int next = 0;
  for (const Given& one : given_) {
    if (one.number > next) close_range(next, one.number - 1);
    next = one.number + 1;
  }
  close_range(next, limit_);
}

// Closes at exec, because the report is needed until then. The last range has no end, whatever the limit is now.
void Child::close_range(int first, int last) {
  const unsigned end = last == limit_ ? ~0U : static_cast<unsigned>(last);
  if (::close_range(static_cast<unsigned>(first), end, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int fd = first; fd <= last; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);  // a kernel before 5.11
}

void Child::fail() {
  const int error = errno;
  static_cast<void>(!::write(report_, &error, sizeof error));
  ::_exit(127);
}

// Blocks all signals: a handler of ours must not run in the child, which lacks our other threads.
pid_t forked(Child& child) {
  const BlockedSignals blocked;
  const pid_t pid = ::fork();
  if (pid == 0) child.run();
  return pid;
}

// Returns 0 if there is nothing to read: exec has closed the pipe.
int reported(int report) {
  int error = 0;
  ssize_t got;
  while ((got = ::read(report, &error, sizeof error)) < 0 && errno == EINTR) {
  }
  return got == sizeof error ? error : 0;
}

}  // namespace

Result<pid_t> start_process(const Program& program) {
  const std::string name = program.command.front();
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  auto report = make_pipe(), gate = make_socket_pair();  // a socket: writing to a dead child must not raise SIGPIPE
  if (!null || !report || !gate) return cannot("start " + name);
  Child child(program, null.get(), *report, *gate);
  const pid_t pid = forked(child);
  if (pid < 0) return cannot("start " + name);
  report->writer.reset();
  gate->reader.reset();
  if (program.standing == Standing::kOrphan) wait_for(pid);
  if (const auto agreed = program.before_exec ? program.before_exec(pid) : Result<void>(); !agreed) {
    gate->writer.reset();
    if (program.standing != Standing::kOrphan) wait_for(pid);
    return failure(agreed.error());
  }
  static_cast<void>(::send(gate->writer.get(), "!", 1, MSG_NOSIGNAL));  // the child may have died
  const int error = reported(report->reader.get());
  if (error == 0) return pid;
  if (program.standing != Standing::kOrphan) wait_for(pid);
  return cannot("start " + name + (program.directory.empty() ? "" : " in " + program.directory), error);
}

Result<pid_t> start_function(Standing standing, int death_signal, const std::function<int()>& function) {
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid > 0) return pid;
  if (pid < 0) return cannot("start a process");
  if (standing != Standing::kOurs) ::setpgid(0, 0);
  if (death_signal != 0) {
    ::prctl(PR_SET_PDEATHSIG, death_signal);
    if (::getppid() != parent) ::_exit(127);
  }
  // An exception ends the child here: the caller's frames above belong to the parent.
  const auto guarded = [&function]() noexcept { return function(); };
  ::_exit(guarded());
}

Error become(const std::vector<std::string>& command) {
  const std::vector<char*> argv = pointers_to(command);
  ::execve(found(command.front()).c_str(), argv.data(), environ);
  return cannot("start " + command.front()).value();
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int kill_and_wait(pid_t child) {
  ::kill(child, SIGKILL);
  return wait_for(child);
}

std::optional<Ended> ended_child(pid_t child) {
  Ended ended;
  const pid_t got = ::waitpid(child, &ended.wait_status, WNOHANG);
  if (got == 0 || (got < 0 && child == kAnyChild)) return std::nullopt;
  ended.pid = std::max(got, 0);
  return ended;
}

std::string how_it_ended(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "signal " + std::to_string(WTERMSIG(wait_status));
  return "exit code " + std::to_string(WEXITSTATUS(wait_status));
}

Result<Finished> output_of(Program program, bool with_errors) {
  auto pipe = make_pipe();
  if (!pipe) return cannot("start " + program.command.front());
  for (const int ours : {STDIN_FILENO, STDERR_FILENO})
    if (::fcntl(ours, F_GETFD) >= 0) program.descriptors.try_emplace(ours, ours);
  program.descriptors[STDOUT_FILENO] = pipe->writer.get();
  if (with_errors) program.descriptors[STDERR_FILENO] = pipe->writer.get();
  const auto pid = start_process(program);
  if (!pid) return failure(pid.error());
  pipe->writer.reset();
  Finished finished;
  char buffer[4096];
  while (true) {
    const ssize_t got = ::read(pipe->reader.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    finished.output.append(buffer, static_cast<std::size_t>(got));
  }
  finished.wait_status = wait_for(*pid);
  return finished;
}

}  // namespace pounce
