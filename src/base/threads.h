// The calling thread and its processors: its name, its signals, and how many processors this process has.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cstddef>

namespace pounce {

// Names the calling thread for ps, gdb and perf; Linux keeps 15 characters.
inline void name_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

// No signal reaches this thread while it lives; threads and processes that are started meanwhile begin so. Thread: its
// maker's.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

// How many processors this process may run on: a job has fewer than its machine. Thread: any.
inline std::size_t processors() {
  cpu_set_t ours;
  return ::sched_getaffinity(0, sizeof ours, &ours) == 0 ? std::max<std::size_t>(CPU_COUNT(&ours), 1) : 1;
}

}  // namespace pounce
