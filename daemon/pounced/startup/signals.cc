#include "pounced/startup/signals.h"

#include <signal.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <stdexcept>

namespace pounce::daemon {
namespace {

std::atomic<int> bell_number = -1;  // the handler's only way to know it

void ring(int) {
  const int saved = errno;
  ::eventfd_write(bell_number, 1);
  errno = saved;
}

void pass_over(int) {}  // a handler that does nothing, since SIG_IGN would be inherited by workers

void handle(int signal_number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  if (::sigaction(signal_number, &action, nullptr) != 0) throw std::runtime_error("cannot handle a signal");
}

}  // namespace

Signals::Signals() : bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!bell_) throw std::runtime_error("no descriptor for signals");
  bell_number = bell_.get();
  handle(SIGTERM, ring);
  handle(SIGINT, ring);
  handle(SIGPIPE, pass_over);
  handle(SIGXFSZ, pass_over);  // a write beyond `ulimit -f` is an error of the write
  handle(SIGHUP, pass_over);  // the terminal of a `serve` by hand may go
}

Signals::~Signals() {
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGINT, SIG_DFL);
  bell_number = -1;
}

}  // namespace pounce::daemon
