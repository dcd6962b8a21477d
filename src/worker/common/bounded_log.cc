#include "worker/common/job_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/unique_fd.h"
#include "base/write_all.h"

namespace pounce::worker {
namespace {

constexpr char kShortened[] = "pounce-worker: this log had reached its limit, and what stood here was removed\n";

// From its first whole line on; empty where it cannot be read.
std::string end_of(int fd, off_t size) {
  const UniqueFd reader(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(kJobLogKeptBytes, '\0');
  const ssize_t got = ::pread(reader.get(), text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t first_line = text.find('\n');
  return first_line == std::string::npos ? text : text.substr(first_line + 1);
}

// In place: other processes hold it open. They share its offset or append, so nobody writes behind a hole.
void shorten(int fd, off_t size) {
  const std::string end = end_of(fd, size);
  if (::ftruncate(fd, 0) != 0) return;
  ::lseek(fd, 0, SEEK_SET);
  write_all(fd, kShortened);
  write_all(fd, end);
}

}  // namespace

void append_to_job_log(int fd, std::string_view bytes) {
  write_all(fd, bytes);
  struct stat facts {};
  if (::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > static_cast<off_t>(kJobLogBytes)) shorten(fd, facts.st_size);
}

}  // namespace pounce::worker
