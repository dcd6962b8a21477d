// Which libsodium is loaded. Thread: any.
#pragma once

#include <string>

namespace pounce::identity {

std::string library_version();  // "1.0.18"

}  // namespace pounce::identity
