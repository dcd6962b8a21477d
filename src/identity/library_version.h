// Which libsodium and which libmunge are loaded. Thread: any.
#pragma once

#include <string>

namespace pounce::identity {

std::string library_version();  // "1.0.18", of libsodium
std::string munge_library();    // its file name, which contains the version: libmunge has no call for it

}  // namespace pounce::identity
