// What to say of a command line that names a command or an option that is not there. Pure. Thread: any.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pounce::ctl {

// After a parse of `words`, the arguments behind the program's name, has failed. Two lines, the fault and where to look;
// empty: all that it names is there.
std::string unknown_word(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace pounce::ctl
