// One run of the user's interpreter, started with a socketpair to the supervisor, with pipes as its output and with a
// page that outlives it. The supervisor keeps the pipes' read ends too, so that the last output is not lost with the
// interpreter. Thread: the supervisor's loop (a thread that lives as long as the supervisor must start the child: the
// kernel ends the child with that thread).
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "pounce/result.h"
#include "worker/common/record_socket.h"
#include "worker/common/run_page.h"
#include "worker/supervisor/job_environment.h"

namespace pounce::worker {

struct InterpreterPlan {
  std::vector<std::string> command;  // whole argv
  Environment environment;           // for user code
  std::string facing, node, devices;
  int log_fd = 1;
  std::string interface{}, ports{};  // where it listens; empty: facing the daemon, any
  rlimit core_limit{};               // the user's own, which the supervisor set to 0 for itself
  std::string state{};  // pounced's own state folder, as its machine names it; empty: no other machine has it
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

}  // namespace pounce::worker
