// What would be lost if an interpreter ended now. The interpreter reports it, its supervisor forwards it, the lease
// core decides with it. Values only.
#pragma once

#include <cstdint>

#include "pounce/fields.h"

namespace pounce {

// The state of the variables that its tasks left. kSaved: nothing would be lost (also if there are none). kSaving:
// they are being written. kUnsaved: one cannot be saved (an open connection, a running thread). kStepping: a running
// loop can be left between two of its steps; then they are saved.
enum class NamespaceState : std::uint8_t { kSaved, kSaving, kUnsaved, kStepping };
// An unknown word of a later version reads as kUnsaved: it does not promise that nothing would be lost.
constexpr auto words(NamespaceState) {
  return words_of<NamespaceState>({"saved", "saving", "unsaved", "stepping"}, NamespaceState::kUnsaved);
}

}  // namespace pounce
