// Runs the doctor's checks in order. Thread: main; each check has a deadline.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace pounce::ctl {

// {"checks": [{"check", "state", "text", "fix"}], "wrong": count}. python: the interpreter to check; empty: the one
// beside this program. shown: prints each finding when it is known, and at the end the number of faults.
nlohmann::json doctor_report(const std::string& python, bool shown);

}  // namespace pounce::ctl
