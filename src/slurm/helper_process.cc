#include "slurm/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pounce::slurm {
namespace {

constexpr int kRequestFd = 3;  // where the helper finds its socket
constexpr std::size_t kErrorsKept = 16 * 1024;
constexpr int kWritePatienceMs = 1000;

std::vector<std::string> as_settings(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> settings;
  for (const auto& [name, value] : environment) settings.push_back(name + "=" + value);
  return settings;
}

// Ends with a null, as exec wants it; valid as long as the texts are.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// In the child, between fork and exec: only system calls. The signals that pounced takes by descriptor are blocked in
// it.
[[noreturn]] void become_helper(char* const* command, char* const* environment, int socket, int errors) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(errors, STDERR_FILENO);
  // Through a high number first: the socket may itself be descriptor 3.
  const int high = ::fcntl(socket, F_DUPFD, 64);
  ::dup2(high, kRequestFd);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::close_range(kRequestFd + 1, ~0u, 0);
  ::execve(command[0], command, environment);
  ::_exit(127);
}

std::string read_available(int fd, bool& closed) {
  std::string text;
  char buffer[16384];
  while (true) {
    const ssize_t n = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n > 0) {
      text.append(buffer, static_cast<std::size_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    closed = n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    return text;
  }
}

}  // namespace

HelperProcess::HelperProcess(pid_t pid, UniqueFd socket, UniqueFd errors)
    : pid_(pid), socket_(std::move(socket)), errors_(std::move(errors)) {}

Result<std::unique_ptr<HelperProcess>> HelperProcess::start(const std::vector<std::string>& command,
                                                            const std::map<std::string, std::string>& environment) {
  if (::access(command.front().c_str(), X_OK) != 0)
    return failure(ErrorCode::kNoSlurm, "there is no program " + command.front(),
                   "Install pounce where Slurm's headers are, or use launcher='local'.");
  int requests[2], errors[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, requests) != 0 ||
      ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, errors) != 0)
    return failure(ErrorCode::kOutcomeUnknown, std::string("no socketpair: ") + std::strerror(errno));
  UniqueFd ours(requests[0]), theirs(requests[1]), our_errors(errors[0]), their_errors(errors[1]);
  // What libslurm prints beyond the socket's buffer is lost, rather than libslurm waiting for us to read it.
  ::fcntl(their_errors.get(), F_SETFL, O_NONBLOCK);
  const auto settings = as_settings(environment);
  const auto words = pointers_to(command), variables = pointers_to(settings);
  const pid_t pid = ::fork();
  if (pid == 0) become_helper(words.data(), variables.data(), theirs.get(), their_errors.get());
  if (pid < 0) return failure(ErrorCode::kOutcomeUnknown, std::string("cannot fork: ") + std::strerror(errno));
  return std::unique_ptr<HelperProcess>(new HelperProcess(pid, std::move(ours), std::move(our_errors)));
}

HelperProcess::~HelperProcess() {
  if (!reaped_) how_it_ended();
}

std::string HelperProcess::how_it_ended() {
  ::kill(pid_, SIGKILL);  // does not change the exit code of one that is on its way out
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

bool HelperProcess::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return false;
    pollfd room{socket_.get(), POLLOUT, 0};
    if (::poll(&room, 1, kWritePatienceMs) == 0) return false;
  }
  return true;
}

std::string HelperProcess::read(bool& closed) { return read_available(socket_.get(), closed); }

std::string HelperProcess::take_stderr() {
  bool ignored = false;
  std::string text = read_available(errors_.get(), ignored);
  if (text.size() > kErrorsKept) text.erase(0, text.size() - kErrorsKept);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace pounce::slurm
