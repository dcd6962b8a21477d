// The user's Python: what it says of the pounce in it. Thread: main; blocks as that Python does.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace pounce::ctl {

std::string python_of(const std::string& named);  // empty: the one beside this program, else the first on PATH

// {"python": "3.11.2", "version": of pounce, "openssl": that _core loads, "cloudpickle", "file", "ours", "trouble"},
// all texts; not an object if there is no such Python.
nlohmann::json python_report(const std::string& python);

}  // namespace pounce::ctl
