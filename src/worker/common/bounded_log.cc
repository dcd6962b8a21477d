#include "worker/common/bounded_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <string>

#include "base/file_io.h"
#include "base/unique_fd.h"

namespace pounce::worker {
namespace {

constexpr std::string_view kRemoved = "pounce: removed_bytes=";
constexpr std::string_view kReason = "; this log had reached its limit\n";

// The first line of a log that was shortened before.
struct FirstLine {
  std::uint64_t removed = 0;
  std::size_t length = 0;
};

std::string read_at(int fd, std::size_t most, off_t from) {
  std::string text(most, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

FirstLine first_line_of(std::string_view text) {
  if (!text.starts_with(kRemoved)) return {};
  FirstLine line;
  const char* end = std::from_chars(text.data() + kRemoved.size(), text.data() + text.size(), line.removed).ptr;
  line.length = static_cast<std::size_t>(end - text.data()) + kReason.size();
  return text.substr(0, line.length).ends_with(kReason) ? line : FirstLine{};
}

// The end of the log, from its first whole line on; empty where it cannot be read.
std::string end_of(int fd, off_t size) {
  const std::string text = read_at(fd, kLogKeptBytes, size - static_cast<off_t>(kLogKeptBytes));
  const std::size_t newline = text.find('\n');
  return newline == std::string::npos ? text : text.substr(newline + 1);
}

// Shortens in place, since other processes hold the file open. They share its offset or append, so no write leaves a
// hole.
void shorten(int fd, off_t size) {
  const UniqueFd reader(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC));
  const FirstLine before = first_line_of(read_at(reader.get(), 128, 0));
  const std::string end = end_of(reader.get(), size);
  const std::uint64_t removed = before.removed + static_cast<std::uint64_t>(size) - before.length - end.size();
  if (::ftruncate(fd, 0) != 0) return;
  ::lseek(fd, 0, SEEK_SET);
  write_all(fd, std::string(kRemoved).append(std::to_string(removed)).append(kReason).append(end));
}

}  // namespace

void append_to_log(int fd, std::string_view bytes) {
  write_all(fd, bytes);
  struct stat facts{};
  if (::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > static_cast<off_t>(kLogBytes))
    shorten(fd, facts.st_size);
}

void end_open_line(int fd) {
  struct stat facts{};
  if (::fstat(fd, &facts) != 0 || facts.st_size == 0) return;
  if (read_at(fd, 1, facts.st_size - 1) != "\n") write_all(fd, "\n");
}

}  // namespace pounce::worker
