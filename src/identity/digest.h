// BLAKE2b over a list of texts, each with its length, so that different lists give different bytes. Thread: any.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace pounce::identity {

std::array<std::uint8_t, 32> digest_of(const std::vector<std::string>& parts);

}  // namespace pounce::identity
