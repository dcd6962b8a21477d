// How a history that is told names what it speaks of. Made only when a line is written: most histories are not told.
#pragma once

#include <ostream>

#include "core/lease/actions.h"
#include "core/lease/events.h"
#include "model/ids.h"
#include "pounce/error.h"

namespace pounce::simulator {

struct Short {  // "7f3e"
  const LeaseId& lease;
};
struct Said {  // the sentence of a cause
  const Cause& cause;
};
struct Heard {  // what pounced heard of its sessions and workers; nothing of Slurm and of time
  const lease::Event& event;
};

std::ostream& operator<<(std::ostream& to, const Short& one);
std::ostream& operator<<(std::ostream& to, const Said& one);
std::ostream& operator<<(std::ostream& to, const Heard& one);
bool worth_telling(const lease::Event& event);

}  // namespace pounce::simulator
