// The shared secret of the two ends of a bulk connection: a random key and a public name for it. The worker makes one
// for one session and one attach, and sends it to the client over CURVE. Thread: any.
#pragma once

#include "base/curve_key.h"
#include "pounce/ids.h"

namespace pounce::tls {

using PeerId = HexId<struct PeerTag, 16>;  // random; the TLS identity of the pre-shared key

struct Credential {
  PeerId id;
  SecretKey key;  // 32 random bytes, wiped when it dies
};

Credential make_credential();  // from the kernel's generator

}  // namespace pounce::tls
