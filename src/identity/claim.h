// The bytes that a proof binds: magic, audience, own key, role, subject; each variable part with its length.
#pragma once

#include <string>

#include "identity/proof.h"

namespace pounce::identity {

std::string claim_bytes(const Claim& claim);

}  // namespace pounce::identity
