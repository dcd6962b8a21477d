// The doctor's checks, one after the other. Thread: main; each check has a deadline.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace pounce::ctl {

// {"checks": [{"check", "state", "text", "fix"}], "wrong": how many}. python: the one to look at; empty: the one beside this
// program. shown: each line is printed as soon as it is known, and then how many things are wrong.
nlohmann::json doctor_report(const std::string& python, bool shown);

}  // namespace pounce::ctl
