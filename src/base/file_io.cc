#include "base/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/unique_fd.h"

namespace pounce {
namespace {

// The file may grow meanwhile: never reads more than `most_bytes`.
std::optional<std::string> read_some(int file, std::size_t most_bytes) {
  std::string text;
  char buffer[16384];
  while (text.size() < most_bytes) {
    const ssize_t n = ::read(file, buffer, std::min(sizeof buffer, most_bytes - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

UniqueFd open_file(const std::string& path, struct stat& facts) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file && (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))) return {};
  return file;
}

}  // namespace

std::optional<std::string> read_whole(int file, std::size_t most_bytes) {
  auto text = read_some(file, most_bytes + 1);
  if (text && text->size() > most_bytes) return std::nullopt;
  return text;
}

std::optional<std::string> read_whole(const std::string& path, std::size_t most_bytes) {
  struct stat facts{};
  const UniqueFd file = open_file(path, facts);
  return file ? read_whole(file.get(), most_bytes) : std::nullopt;
}

std::string read_end(const std::string& path, std::size_t most_bytes) {
  struct stat facts{};
  const UniqueFd file = open_file(path, facts);
  if (!file) return {};
  const bool longer = facts.st_size > static_cast<off_t>(most_bytes);
  if (longer && ::lseek(file.get(), -static_cast<off_t>(most_bytes), SEEK_END) < 0) return {};
  const std::string text = read_some(file.get(), most_bytes).value_or("");
  if (!longer) return text;
  const auto newline = text.find('\n');  // the first line is incomplete
  return newline == std::string::npos ? "" : text.substr(newline + 1);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

WriteProbe probe_writing(const std::filesystem::path& folder) {
  std::string name = (folder / ".pounce-probe-XXXXXX").string();
  const UniqueFd file(::mkstemp(name.data()));
  if (!file) return {std::strerror(errno)};
  const std::string page(4096, '\0');  // fewer bytes may still fit on a full disk
  // A quota and a network file system report errors only at fsync.
  const bool written = write_all(file.get(), page) && ::fsync(file.get()) == 0;
  const std::string trouble = written ? "" : std::strerror(errno);
  struct stat facts{};
  ::fstat(file.get(), &facts);
  ::unlink(name.c_str());
  return {trouble, static_cast<double>(facts.st_mtim.tv_sec)};
}

std::filesystem::path nearest_existing(std::filesystem::path folder) {
  std::error_code absent;
  while (!std::filesystem::exists(folder, absent) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

}  // namespace pounce
