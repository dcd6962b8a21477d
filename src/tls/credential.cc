#include "tls/credential.h"

#include <sys/random.h>

#include "base/check.h"
#include "base/random_id.h"

namespace pounce::tls {

Credential make_credential() {
  Credential made{random_id<PeerId>(), {}};
  auto& bytes = made.key.bytes();
  POUNCE_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "getrandom failed");
  return made;
}

}  // namespace pounce::tls
