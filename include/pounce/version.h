// The product's and the wire protocol's version.
#pragma once

namespace pounce {

inline constexpr char kVersion[] = "0.1.0";
// Grows when a peer of the old number could misunderstand us (docs/protocol.md §2).
inline constexpr int kProtocolVersion = 2;

}  // namespace pounce
