// Small files: written whole, or grown line by line.

#include "pounced/storage/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/file_io.h"
#include "base/unique_fd.h"

namespace pounce::daemon {
namespace {

void sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) ::fsync(fd.get());  // some network file systems cannot sync a folder: the rename is then as safe as they are
}

// publish: gives the complete file its name and returns 0 on success.
Result<void> write_beside(const std::string& path, std::string_view content,
                          int (*publish)(const char* from, const char* to)) {
  const std::string temporary = path + ".new." + std::to_string(::getpid());
  ::unlink(temporary.c_str());  // left by a dead process with our PID
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool written = fd && write_all(fd.get(), content) && ::fsync(fd.get()) == 0;
  if (!written || publish(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    ::unlink(temporary.c_str());
    return failure(ErrorCode::kDaemonUnavailable, path + " cannot be written: " + why,
                   "Make room there, or name another state_folder in pounced's configuration.");
  }
  sync_folder_of(path);
  return {};
}

int link_and_unlink(const char* from, const char* to) { return ::link(from, to) != 0 ? -1 : ::unlink(from); }

}  // namespace

Result<void> replace_file(const std::string& path, std::string_view content) {
  return write_beside(path, content, ::rename);
}

Result<void> create_file(const std::string& path, std::string_view content) {
  return write_beside(path, content, link_and_unlink);
}

std::optional<std::string> read_own_file(const std::string& path, std::size_t most_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat facts{};
  if (!fd || ::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid())
    return std::nullopt;
  return read_whole(fd.get(), most_bytes);
}

bool append_lines(const std::string& path, const std::string& lines, std::uintmax_t most_bytes) {
  struct stat is{};
  if (::stat(path.c_str(), &is) == 0 && static_cast<std::uintmax_t>(is.st_size) > most_bytes)
    std::rename(path.c_str(), (path + ".1").c_str());
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  return file.get() >= 0 && write_all(file.get(), lines);
}

}  // namespace pounce::daemon
