// Fresh CURVE key pairs, made by libsodium in memory only (never zmq_curve_keypair: gotchas Z7).
#pragma once

#include "base/curve_key.h"

namespace pounce::identity {

KeyPair make_key_pair();

}  // namespace pounce::identity
