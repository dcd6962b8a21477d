// The user's Python: what it says of the pounce in it, and the commands that are Python's. Thread: main; blocks as that
// Python does.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace pounce::ctl {

std::string python_of(const std::string& named);  // empty: the one beside this program, else the first on PATH

// {"python": "3.11.2", "version": of pounce, "openssl": that _core loads, "cloudpickle", "file", "ours", "trouble"},
// all texts; not an object if there is no such Python.
nlohmann::json python_report(const std::string& python);

struct PythonCommand {
  std::string name;     // the word behind `pouncectl`
  std::string module;   // of the package pounce; its main(words) parses them and returns the exit code
  std::string meaning;  // for --help
};

const std::vector<PythonCommand>& python_commands();

// Returns only if it cannot start.
int become_python(const PythonCommand& command, const std::vector<std::string>& words);

}  // namespace pounce::ctl
