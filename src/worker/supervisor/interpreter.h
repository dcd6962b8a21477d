// One run of the user's interpreter: how it is started, what it said last, and why it died.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "model/ids.h"
#include "pounce/error.h"
#include "worker/common/supervisor_channel.h"
#include "worker/supervisor/supervisor_options.h"

namespace pounce::worker {

// It is started with a socketpair to us, with pipes as its output and a page that outlives it. We keep the pipes' read
// ends too, so that what it said last is not lost with it. Thread: the supervisor's loop (the child must be started by
// the thread that lives as long as the supervisor: the kernel ends it with that thread).
struct InterpreterPlan {
  std::vector<std::string> command;  // whole argv
  Environment environment;           // for user code
  std::string facing, node, devices;
  int log_fd = 1;
  std::string interface{}, ports{};  // where it listens; empty: facing the daemon, any
  rlimit core_limit{};               // the user's own, which the supervisor set to 0 for itself
  std::string state{};        // pounced's own state folder, as its machine names it; empty: no other machine has it
  std::string lease{};        // its id, for what user code records of its run
  std::uint32_t workers = 1;  // of the lease
  std::string report_pipe{};  // a named pipe; empty: there is none
  int report_fd = -1;         // its reading end
};

class Interpreter {
 public:
  // Fails where the command cannot be executed, or the kernel refuses a process or a descriptor.
  static Result<std::unique_ptr<Interpreter>> start(const InterpreterPlan& plan);

  pid_t pid() const { return pid_; }
  RecordSocket& socket() { return socket_; }
  const RunPage& page() const { return page_; }
  // Reads the rest of its output pipes. Call it when the interpreter is dead.
  std::string last_words();

 private:
  Interpreter(pid_t pid, UniqueFd socket, UniqueFd output, UniqueFd errors, RunPage page);
  pid_t pid_;
  RecordSocket socket_;
  UniqueFd output_, errors_;
  RunPage page_;
};

// Why an interpreter died, as an Error for the user: what happened, and the evidence. Pure. Thread: any.
struct Death {
  int wait_status = 0;  // of waitpid
  std::string node{};
  bool killed_for_memory = false;
  std::optional<std::uint64_t> memory_limit{};  // bytes
  bool gave_up = false;                         // it ended itself, since its cancelled task did not stop
  bool was_ready = true;                        // false: it died before it could take a task
  std::string command{};                        // the interpreter's, for the message when it never ran
  std::string last_lines{};
  std::optional<TaskId> running{};
  std::optional<Error> unfit{};  // set when it was ended because its GPUs cannot be used
};

Error death_report(const Death& death);
// The last lines of a text, at most `lines` of them and `bytes` in all, without lines that the supervisor logged.
std::string tail_of(const std::string& text, std::size_t lines = 20, std::size_t bytes = 4000);

}  // namespace pounce::worker
