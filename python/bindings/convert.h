// Errors of ours as Python exceptions.
#pragma once

#include "pounce/error.h"

namespace pounce {

// With the GIL: throws the exception class of that code (python/pounce/errors.py).
[[noreturn]] void raise_error(const Error& error);

}  // namespace pounce
