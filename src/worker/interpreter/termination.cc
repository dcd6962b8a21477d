#include "worker/interpreter/termination.h"

#include <signal.h>
#include <unistd.h>

namespace pounce::worker {
namespace {

// Written before the handler is installed. A supervisor that dies takes this process along (PR_SET_PDEATHSIG), so no
// other process has its number.
pid_t interpreter = 0, supervisor = 0;

// Async-signal-safe. The raised signal is delivered with the default action as soon as this returns.
void on_termination(int signal, siginfo_t* info, void*) {
  const bool by_others = info->si_pid != interpreter && info->si_pid != supervisor;
  if (::getpid() == interpreter && by_others) return;
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(signal, &standard, nullptr);
  ::raise(signal);
}

}  // namespace

void leave_termination_to_supervisor() {
  interpreter = ::getpid();
  supervisor = ::getppid();
  struct sigaction action {};
  action.sa_sigaction = on_termination;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace pounce::worker
