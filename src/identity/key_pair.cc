#include "identity/key_pair.h"

#include <sodium.h>

#include "base/check.h"

namespace pounce::identity {

KeyPair make_key_pair() {
  POUNCE_CHECK(::sodium_init() >= 0, "libsodium cannot start");
  KeyPair pair;
  // A CURVE key pair is a crypto_box pair (RFC 26).
  ::crypto_box_keypair(pair.public_key.bytes.data(), pair.secret_key.bytes().data());
  return pair;
}

}  // namespace pounce::identity
