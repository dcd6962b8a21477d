#include "pounced/storage/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>

#include "base/unique_fd.h"
#include "base/write_all.h"

namespace pounce::daemon {

bool append_lines(const std::string& path, const std::string& lines, std::uintmax_t most_bytes) {
  struct stat is {};
  if (::stat(path.c_str(), &is) == 0 && static_cast<std::uintmax_t>(is.st_size) > most_bytes)
    std::rename(path.c_str(), (path + ".1").c_str());
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  return file.get() >= 0 && write_all(file.get(), lines);
}

}  // namespace pounce::daemon
