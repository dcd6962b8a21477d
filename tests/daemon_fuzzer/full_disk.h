// No file can grow: the kernel refuses it for this process, as a full disk would. Thread: the test's.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <cstddef>

namespace pounce::daemon_fuzzer {

class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
  }
  ~FullDisk() { ends(); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

  void begins(std::size_t room) { limit(room); }  // bytes that a file may have
  void ends() { limit(before_.rlim_cur); }

 private:
  void limit(rlim_t bytes) const {
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  rlimit before_{};
};

}  // namespace pounce::daemon_fuzzer
