// How large a file of a process may be, from here on and until this goes. Memory that is handed over is a file, too.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

namespace pounce {

class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes, pid_t process = 0) : process_(process) {
    ::prlimit(process_, RLIMIT_FSIZE, nullptr, &before_);
    const rlimit lower{bytes, before_.rlim_max};
    ::prlimit(process_, RLIMIT_FSIZE, &lower, nullptr);
  }
  ~FileLimit() { ::prlimit(process_, RLIMIT_FSIZE, &before_, nullptr); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  const pid_t process_;  // 0: this one
  rlimit before_{};
};

}  // namespace pounce
