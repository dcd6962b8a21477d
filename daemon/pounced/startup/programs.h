// The sibling programs of this one, where the configuration does not name others. Thread: any.
#pragma once

#include <string>

namespace pounce::daemon {

std::string this_program();
std::string beside_this_program(const std::string& name);

}  // namespace pounce::daemon
