// What must hold after each event (docs/states.md, Invariants). Thread: loop.
#pragma once

#include <optional>
#include <string>

#include "core/lease/idle_reuse.h"
#include "core/lease/rule_context.h"
#include "core/lease/transitions.h"

namespace pounce::lease {

// The first that is broken, or nothing.
std::optional<std::string> broken_invariant(const Context& context, const IdleReuse& idle, const Transitions& transitions);

}  // namespace pounce::lease
