// Which environment variables of this process its workers have too: the one list, for clients in C++ and in Python. Never
// all of the environment, since anything secret may be in it. Pure. Thread: any.
#pragma once

#include <string_view>

#include "base/environment.h"

namespace pounce::client {

bool travels(std::string_view name);

// Those of an environment, as environment_of() takes it.
Environment travelling(const char* const* environment);

}  // namespace pounce::client
