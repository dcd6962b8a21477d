// pouncectl run: a program in a lease. The client is Python's (pounce.run_command), so this process becomes it: signals and the
// exit code need no way of their own.
#include <unistd.h>

#include <filesystem>

#include "base/process.h"
#include "pouncectl/commands.h"
#include "pouncectl/error_report.h"
#include "pouncectl/program.h"

namespace pounce::ctl {
namespace {

// That of the environment which this program belongs to, else the user's.
std::string python_here() {
  std::error_code none;
  for (const char* name : {"python", "python3"})
    if (const std::string beside = sibling(name); std::filesystem::is_regular_file(beside, none) && ::access(beside.c_str(), X_OK) == 0)
      return beside;
  return "python3";
}

// Without the folder where somebody stands: a queue.py there is theirs, and not ours to import.
constexpr char kProgram[] = "import sys; del sys.path[0]; from pounce.run_command import main; sys.exit(main(sys.argv[1:]))";

}  // namespace

int run(const std::vector<std::string>& words) {
  std::vector<std::string> command = {python_here(), "-c", kProgram};
  command.insert(command.end(), words.begin(), words.end());
  return report(become(command), false);
}

}  // namespace pounce::ctl
