// Where the user's files are. Thread: main, before the loop.
#pragma once

#include <string>

namespace pounce::daemon {

std::string home_folder();  // $HOME, else the password database

// The default folder is below home_folder(), the usual one below the home that the password database names. They
// differ only if the user runs with another $HOME, for a test say.
std::string default_state_folder();
std::string usual_state_folder();

}  // namespace pounce::daemon
