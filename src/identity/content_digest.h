// XXH3-128, by which functions and objects are named. It tells different content apart; it keeps no enemy out, who gets in
// nowhere that these names are used. Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pounce::identity {

using ContentDigest = std::array<std::uint8_t, 16>;

ContentDigest content_digest(std::span<const std::byte> bytes);

// Of several parts, sizes included, so that no two splits of the same bytes meet.
ContentDigest content_digest(const std::vector<std::span<const std::byte>>& parts);

}  // namespace pounce::identity
