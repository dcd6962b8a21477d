// The user's Python: what it says of the pounce in it, and the commands that are Python's.

#include "pouncectl/python.h"

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/process.h"
#include "pouncectl/commands.h"
#include "pouncectl/output.h"
#include "pouncectl/queries.h"

namespace pounce::ctl {
namespace {

// Prints its findings as one line of JSON; a foreign pounce has no _core. The current folder is at the place in
// sys.path that it has in a notebook: another pounce there is found, and a file with the name of a standard module
// does not replace that module.
constexpr char kPythonScript[] = R"(
import sys
sys.path[:] = filter(None, sys.path)
sys.path.insert(next((place for place, folder in enumerate(sys.path) if folder.endswith("-packages")),
                     len(sys.path)), "")
import importlib.metadata, json
found = {"python": sys.version.split()[0], "ours": "", "version": "", "file": "", "trouble": "",
         "openssl": "", "cloudpickle": ""}
try:
    found["ours"] = str(importlib.metadata.distribution("pounce-hpc").locate_file("pounce/__init__.py"))
except importlib.metadata.PackageNotFoundError:
    pass
try:
    import cloudpickle
    found["cloudpickle"] = str(getattr(cloudpickle, "__version__", ""))
except Exception:
    pass
try:
    import pounce
    found["file"], found["version"] = str(pounce.__file__), str(getattr(pounce, "__version__", ""))
    import pounce._core
    found["openssl"] = getattr(pounce._core, "OPENSSL", "")
except Exception as error:
    found["trouble"] = f"{type(error).__name__}: {error}"
print(json.dumps(found)))";

std::string python_beside() {
  std::error_code absent;
  for (const char* name : {"python", "python3"})
    if (const std::string path = sibling(name); std::filesystem::is_regular_file(path, absent)) return path;
  return "python3";
}

}  // namespace

std::string python_of(const std::string& named) { return named.empty() ? python_beside() : named; }

nlohmann::json python_report(const std::string& python) {
  return nlohmann::json::parse(output_of({python, "-c", kPythonScript}), nullptr, false);
}

// Commands that are Python's: this process becomes that Python, so signals and the exit code need no path of their own.

namespace {

// The Python of this program's environment, else the user's.
std::string python_here() {
  std::error_code none;
  for (const char* name : {"python", "python3"})
    if (const std::string beside = sibling(name);
        std::filesystem::is_regular_file(beside, none) && ::access(beside.c_str(), X_OK) == 0)
      return beside;
  return "python3";
}

}  // namespace

const std::vector<PythonCommand>& python_commands() {
  static const std::vector<PythonCommand> commands = {
      {"run", "run_command", "a program in a lease: its output, its exit code, and the signals that come here"},
      {"serve", "serving.command",
       "models and functions at addresses of this machine: list, stop, or serve one until Ctrl-C"},
      {"attach", "kept.command",
       "a cell that goes on without its kernel: its output from the beginning, and then as it comes"},
      {"rerun", "reruns.command", "a run of MLflow once more: the same code, with the parameters that you change"},
      {"usage", "insight.command", "what all jobs held, by user, class, day and more, and how much of it computed"},
      {"antipatterns", "insight.antipatterns.command",
       "habits that hold GPUs without use, each with the line to type instead"},
      {"metrics", "insight.metrics.command",
       "figures for Prometheus: of your own pounced, or of the site; served, or in a file for node_exporter"},
      {"panel", "panels.command", "your leases of this machine on a live page, with buttons"},
      {"job", "mlflow_projects.job_command", "an MLproject as a job script, and a job script as an MLproject"},
  };
  return commands;
}

int become_python(const PythonCommand& command, const std::vector<std::string>& words) {
  // The current folder is left out of sys.path: a queue.py there must not be imported.
  const std::string program =
      "import sys; del sys.path[0]; from pounce." + command.module + " import main; sys.exit(main(sys.argv[1:]))";
  std::vector<std::string> whole = {python_here(), "-c", program};
  whole.insert(whole.end(), words.begin(), words.end());
  return report(become(whole), false);
}

}  // namespace pounce::ctl
