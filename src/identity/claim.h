// The bytes that a proof covers: magic, audience, own key, role, subject; each variable part with its length.
#pragma once

#include <string>
#include <string_view>

#include "identity/proof.h"

namespace pounce::identity {

std::string claim_bytes(const Claim& claim);

// The bytes that a seal covers: a magic of its own, so that a seal is never accepted as a proof, and a digest of the
// statement.
std::string seal_bytes(std::string_view statement);

}  // namespace pounce::identity
