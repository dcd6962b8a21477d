// Makes TERM and INT a readable descriptor. It uses handlers, not a blocked mask with signalfd: exec undoes handlers,
// but every worker that this process starts would inherit a mask. One per process. Thread: main.
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
