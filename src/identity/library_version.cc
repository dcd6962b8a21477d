#include "identity/library_version.h"

#include <sodium.h>

namespace pounce::identity {

std::string library_version() { return ::sodium_version_string(); }

}  // namespace pounce::identity
