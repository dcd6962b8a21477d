// What two ends of a bulk connection have in common: a random key, and a name for it that may be seen. Made for one session
// and one attach by the worker, told to the client over CURVE. Thread: any.
#pragma once

#include "base/curve_key.h"
#include "pounce/ids.h"

namespace pounce::tls {

using PeerId = HexId<struct PeerTag, 16>;  // random; the identity of a pre-shared key

struct Credential {
  PeerId id;
  SecretKey key;  // 32 random bytes, wiped when it dies
};

Credential make_credential();  // from the kernel's generator

}  // namespace pounce::tls
