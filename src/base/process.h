// Starting processes, with the environment and pipes that they get: the only place that forks or executes
// (tests/rules_test.py). A child gets what is named here and nothing else: its descriptors, no blocked and no ignored
// signal, and a failing exec comes back as the caller's error. A child that was not waited for keeps its number, so
// wait and kill go by pid. Blocking where it says so. Thread: any; the kernel ends a child with a death_signal with the
// *thread* that started it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "pounce/error.h"

namespace pounce {

// Environment variables by name. Thread: any (values).
using Environment = std::map<std::string, std::string>;

// Parses an environment in the form of `environ`: "NAME=value" entries, the last one null. Skips entries without a
// name.
Environment environment_of(const char* const* entries);

// Empty if the variable is not set.
std::string value_of(const Environment& environment, const std::string& name);

// Two descriptors with a stream between them, closed at exec. nullopt: there is none, and errno says why. Thread: any.
struct Pipe {
  UniqueFd reader, writer;
};

std::optional<Pipe> make_pipe();
std::optional<Pipe> make_socket_pair();  // stream sockets: either end reads and writes

// A child's session, process group and parent.
enum class Standing : std::uint8_t {
  kOurs,        // in our session and group: Ctrl-C reaches it too
  kOwnGroup,    // kill(-pid) reaches it and its descendants
  kOwnSession,  // as kOwnGroup, and without a terminal
  kOrphan       // as kOwnSession, and not our child: it outlives us and can never get a terminal
};

struct Program {
  std::vector<std::string> command;  // whole argv; the program is searched in our PATH if it has no '/'
  std::optional<std::map<std::string, std::string>> environment{};  // exactly this; nullopt: ours
  std::string directory{};                                          // empty: ours
  // The child's number, our descriptor; 0, 1, 2 default to /dev/null; others are closed.
  std::map<int, int> descriptors{};
  Standing standing = Standing::kOurs;
  int death_signal = 0;  // sent to the child when we die; not to an orphan
  std::optional<mode_t> file_mask{};
  // Called with the child's pid while the child waits between fork and exec; an error ends it unstarted. The child
  // also ends if we die here.
  std::function<Result<void>(pid_t)> before_exec{};
};

// Returns when the program runs. kInternal: no process, no such program, no such directory. Use an orphan's pid for
// the log only.
Result<pid_t> start_process(const Program& program);

// Starts a child that runs a function of ours and exits with its result: for a library that may call exit() or hang,
// and for a server that is this same program. The child keeps our descriptors and signal mask, but only this thread.
// Call it only if no other thread can hold a lock that the function needs. `standing`: kOurs or kOwnGroup.
Result<pid_t> start_function(Standing standing, int death_signal, const std::function<int()>& function);

// Replaces this process with that program, with our descriptors and environment. Returns only on failure.
Error become(const std::vector<std::string>& command);

int wait_for(pid_t child);                  // its wait status; blocks
int kill_and_wait(pid_t child);             // does not change the status of a child that is ending already
std::string how_it_ended(int wait_status);  // "exit code 1", "signal 9"

inline constexpr pid_t kAnyChild = -1;
struct Ended {
  pid_t pid = 0;  // 0: no such child; its status was already taken
  int wait_status = 0;
};
std::optional<Ended> ended_child(pid_t child);  // without waiting; nullopt: it runs, or no child has ended

struct Finished {
  int wait_status = 0;
  std::string output;
};
// Runs the program to its end and returns its standard output; with_errors: and its standard error. It inherits our
// standard input and, without with_errors, our standard error. Blocks.
Result<Finished> output_of(Program program, bool with_errors = false);

}  // namespace pounce
