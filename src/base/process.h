// Starting processes: the only place that forks or executes (tests/rules_test.py). A child gets what is named here and
// nothing else: its descriptors, no blocked and no ignored signal, and a failing exec comes back as the caller's error.
// A child that was not waited for keeps its number, so wait and kill go by pid. Blocking where it says so. Thread: any;
// the kernel ends a child with a death_signal with the *thread* that started it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pounce/result.h"

namespace pounce {

// Where a child stands: whose terminal, whose signals, whose child.
enum class Standing : std::uint8_t {
  kOurs,        // in our session and group: Ctrl-C reaches it too
  kOwnGroup,    // kill(-pid) reaches it and what it has started
  kOwnSession,  // and no terminal
  kOrphan       // and not our child: it outlives us, nobody waits for it, it can never get a terminal
};

struct Program {
  std::vector<std::string> command;  // whole argv; looked for in our PATH where it has no '/'
  std::optional<std::map<std::string, std::string>> environment{};  // exactly this; nullopt: ours
  std::string directory{};                                          // empty: ours
  std::map<int, int> descriptors{};  // the child's number, our descriptor; 0, 1, 2: else /dev/null; any other: closed
  Standing standing = Standing::kOurs;
  int death_signal = 0;  // sent to it when we die; not to an orphan
  std::optional<mode_t> file_mask{};
  // Called with its pid while it waits between fork and exec; an error ends it unstarted. It ends also if we die here.
  std::function<Result<void>(pid_t)> before_exec{};
};

// Returns when the program runs. kInternal: no process, no such program, no such directory. An orphan's pid is for the
// log only.
Result<pid_t> start_process(const Program& program);

// A child that runs a function of ours and exits with what it returns: for a library that may call exit() or hang, and
// for a server that is this very program. Our descriptors and our signal mask stay, of our threads only this one. Call it
// only where no other thread can hold a lock that the function needs. `standing`: kOurs or kOwnGroup.
Result<pid_t> start_function(Standing standing, int death_signal, const std::function<int()>& function);

// This process becomes that program, with our descriptors and environment. Returns only if it cannot.
Error become(const std::vector<std::string>& command);

int wait_for(pid_t child);                  // its wait status; blocks
int kill_and_wait(pid_t child);             // does not change how one ended that is on its way out
std::string how_it_ended(int wait_status);  // "exit code 1", "signal 9"

inline constexpr pid_t kAnyChild = -1;
struct Ended {
  pid_t pid = 0;  // 0: there is no such child; somebody else has taken its status
  int wait_status = 0;
};
std::optional<Ended> ended_child(pid_t child);  // without waiting; nullopt: it runs, or none of all has ended

struct Finished {
  int wait_status = 0;
  std::string output;
};
// Runs it to its end and takes what it writes to standard output; with_errors: and to standard error. Its standard input
// and, without with_errors, its standard error are ours. Blocks.
Result<Finished> output_of(Program program, bool with_errors = false);

}  // namespace pounce
