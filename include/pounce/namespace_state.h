// What would be lost if an interpreter ended now: told by it, passed on by its supervisor, weighed by the lease core.
// Values only.
#pragma once

#include <cstdint>

#include "pounce/fields.h"

namespace pounce {

// Of the variables that its tasks left. kSaved: nothing would be lost (also where there are none). kSaving: they are being
// written. kUnsaved: one cannot be saved (an open connection, a running thread). kStepping: a loop runs that can be left
// between two of its steps; then they are saved.
enum class NamespaceState : std::uint8_t { kSaved, kSaving, kUnsaved, kStepping };
// A word that a later version adds is no promise that nothing is lost.
constexpr auto words(NamespaceState) {
  return words_of<NamespaceState>({"saved", "saving", "unsaved", "stepping"}, NamespaceState::kUnsaved);
}

}  // namespace pounce
