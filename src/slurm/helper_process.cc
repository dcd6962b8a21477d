#include "slurm/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/process.h"
#include "pounce/version.h"

namespace pounce::slurm {
namespace {

namespace fs = std::filesystem;

fs::path all_of(const std::string& base) { return fs::path(base) / kHelperName / kVersion; }

bool is_for_this_machine(const fs::path& folder) {
  std::error_code absent;
  return fs::exists(folder / kLibraryLink, absent) && ::access((folder / kHelperName).c_str(), X_OK) == 0;
}

std::string newest_in(const std::string& base) {
  std::string newest;
  fs::file_time_type its_time{};
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(all_of(base), unreadable)) {
    if (!is_for_this_machine(entry.path())) continue;
    const fs::path program = entry.path() / kHelperName;
    const auto time = fs::last_write_time(program, unreadable);
    if (!newest.empty() && time <= its_time) continue;
    newest = program.string(), its_time = time;
  }
  return newest;
}

std::string readable(const fs::path& path) { return ::access(path.c_str(), R_OK) == 0 ? path.string() : std::string(); }

}  // namespace

std::string users_base() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data == '/') return std::string(data) + "/pounce";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.local/share/pounce" : std::string();
}

std::string installations_base(const std::string& programs) {
  return (fs::path(programs).parent_path() / "lib/pounce").string();
}

std::string helper_folder(const std::string& base, int library_number) {
  return (all_of(base) / ("libslurm.so." + std::to_string(library_number))).string();
}

std::string find_helper(const std::string& programs) {
  for (const std::string& base : {users_base(), installations_base(programs)})
    if (!base.empty())
      if (std::string built = newest_in(base); !built.empty()) return built;
  return (fs::path(programs) / kHelperName).string();
}

std::string full_library_for(const std::string& helper) {
  const fs::path folder = fs::path(helper).parent_path();
  std::error_code none;
  if (fs::is_symlink(folder / kLibraryLink, none)) return readable(folder / kFullLibraryLink);
#ifdef POUNCE_LIBSLURMFULL
  return readable(POUNCE_LIBSLURMFULL);
#else
  return {};
#endif
}

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
  return std::unique_ptr<HelperProcess>(
      new HelperProcess(*pid, std::move(requests->reader), std::move(errors->reader)));
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
