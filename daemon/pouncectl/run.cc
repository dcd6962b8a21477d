// pouncectl run: runs a program in a lease. The client is Python's (pounce.run_command), and this process execs it,
// so that signals and the exit code need no forwarding.
#include <unistd.h>

#include <filesystem>

#include "base/process.h"
#include "pouncectl/commands.h"
#include "pouncectl/error_report.h"
#include "pouncectl/program.h"

namespace pounce::ctl {
namespace {

// The Python of this program's environment, else the user's.
std::string python_here() {
  std::error_code none;
  for (const char* name : {"python", "python3"})
    if (const std::string beside = sibling(name); std::filesystem::is_regular_file(beside, none) && ::access(beside.c_str(), X_OK) == 0)
      return beside;
  return "python3";
}

// Leaves the current folder out of sys.path: a queue.py there must not be imported.
constexpr char kProgram[] = "import sys; del sys.path[0]; from pounce.run_command import main; sys.exit(main(sys.argv[1:]))";

}  // namespace

int run(const std::vector<std::string>& words) {
  std::vector<std::string> command = {python_here(), "-c", kProgram};
  command.insert(command.end(), words.begin(), words.end());
  return report(become(command), false);
}

}  // namespace pounce::ctl
