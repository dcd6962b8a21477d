// Prints an error: cause and remedy on standard error, or a JSON document on standard output.
#pragma once

#include "pounce/error.h"

namespace pounce::ctl {

int report(const Error& error, bool json);  // returns the exit code

}  // namespace pounce::ctl
