// XXH3-128, which names functions and objects. It distinguishes content and is no protection against attackers, who
// cannot get to where these names are used. Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pounce::identity {

using ContentDigest = std::array<std::uint8_t, 16>;

ContentDigest content_digest(std::span<const std::byte> bytes);

// The digest of several parts including their sizes, so that different splits of the same bytes differ.
ContentDigest content_digest(const std::vector<std::span<const std::byte>>& parts);

}  // namespace pounce::identity
