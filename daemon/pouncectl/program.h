// Runs other programs and reads their output. Thread: main.
#pragma once

#include <string>
#include <vector>

namespace pounce::ctl {

std::string own_folder();  // the folder of this program

// The path of a program in the same folder: pounced, pounce-slurm.
std::string sibling(const std::string& program);

// Its standard output; with_errors: and standard error. Empty if it could not run.
std::string output_of(const std::vector<std::string>& argv, bool with_errors = false);

}  // namespace pounce::ctl
