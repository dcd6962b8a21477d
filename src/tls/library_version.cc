#include "tls/library_version.h"

#include <openssl/crypto.h>

namespace pounce::tls {

std::string library_version() { return ::OpenSSL_version(OPENSSL_VERSION_STRING); }

}  // namespace pounce::tls
