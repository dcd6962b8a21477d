#include "slurm/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/pipe.h"
#include "base/process.h"

namespace pounce::slurm {
namespace {

constexpr int kRequestFd = 3;  // the helper's socket
constexpr std::size_t kErrorsKept = 16 * 1024;
constexpr int kWritePatienceMs = 1000;

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
                   "Run pouncectl rebuild, which makes one for this Slurm, or use launcher='local'.");
  auto requests = make_socket_pair(), errors = make_socket_pair();  // ours, the helper's
  if (!requests || !errors)
    return failure(ErrorCode::kOutcomeUnknown, std::string("no socketpair: ") + std::strerror(errno));
  // libslurm must not wait for us to read: what it prints beyond the socket's buffer is lost.
  ::fcntl(errors->writer.get(), F_SETFL, O_NONBLOCK);
  Program program{.command = command};
  program.environment = environment;
  program.descriptors = {{STDERR_FILENO, errors->writer.get()}, {kRequestFd, requests->writer.get()}};
  const auto pid = start_process(program);
  if (!pid) return failure(ErrorCode::kOutcomeUnknown, pid.error().text);
  return std::unique_ptr<HelperProcess>(new HelperProcess(*pid, std::move(requests->reader), std::move(errors->reader)));
}

HelperProcess::~HelperProcess() {
  if (!reaped_) how_it_ended();
}

std::string HelperProcess::how_it_ended() {
  reaped_ = true;
  return pounce::how_it_ended(kill_and_wait(pid_));
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
