// The message for an unknown command or option on the command line. Pure. Thread: any.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pounce::ctl {

// Call it after a failed parse of `words`, the arguments after the program's name. Two lines, the fault and where to
// look; empty: all names are known.
std::string unknown_word(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace pounce::ctl
