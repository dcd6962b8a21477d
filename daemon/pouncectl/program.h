// Asking another program. Thread: main.
#pragma once

#include <string>
#include <vector>

namespace pounce::ctl {

std::string own_folder();  // where this program lies

// A sibling program of this one: pounced, pounce-slurm.
std::string sibling(const std::string& program);

// What it writes to standard output; with_errors: and to standard error. Empty when it could not run.
std::string output_of(const std::vector<std::string>& argv, bool with_errors = false);

}  // namespace pounce::ctl
