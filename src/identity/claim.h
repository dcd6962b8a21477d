// The bytes that a proof binds: magic, audience, own key, role, subject; each variable part with its length.
#pragma once

#include <string>
#include <string_view>

#include "identity/proof.h"

namespace pounce::identity {

std::string claim_bytes(const Claim& claim);

// What a seal binds: magic of its own, so that no seal is ever taken for a proof, and a digest of the statement.
std::string seal_bytes(std::string_view statement);

}  // namespace pounce::identity
