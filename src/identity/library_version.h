// Which libsodium and which libmunge are loaded. Thread: any.
#pragma once

#include <string>

namespace pounce::identity {

std::string library_version();  // "1.0.18", of libsodium
std::string munge_library();    // its file, with the version in its name: libmunge has no call that tells it

}  // namespace pounce::identity
