// TERM and INT as a readable descriptor. By handlers, not by a blocked mask with signalfd: handlers are undone by exec,
// a mask is inherited by every worker that this process starts. One per process. Thread: main.
#pragma once

#include "base/unique_fd.h"

namespace pounce::daemon {

class Signals {
 public:
  Signals();  // throws std::runtime_error
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return bell_.get(); }

 private:
  UniqueFd bell_;
};

}  // namespace pounce::daemon
