// Which environment variables of this process its workers have too: the one list, for clients in C++ and in Python.
// Never the whole environment, since it may hold secrets. Pure. Thread: any.
#pragma once

#include <string_view>

#include "base/environment.h"

namespace pounce::client {

bool travels(std::string_view name);

// The ones among those of an environment, in the form that environment_of() takes.
Environment travelling(const char* const* environment);

}  // namespace pounce::client
