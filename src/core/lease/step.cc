#include "core/lease/step.h"

#include <algorithm>

namespace pounce::lease {

void Step::begin(TimePoint now) {
  now_ = std::max(now_, now);  // a clock that goes back changes nothing
  actions_.clear();
  ++counters_.events;
}

void Step::begin_round() {
  changed_ = false;
  deadline_ = TimePoint::max();
}

bool Step::due(TimePoint when) {
  if (when <= now_) return true;
  deadline_ = std::min(deadline_, when);
  return false;
}

void Step::ignore(const std::string& what) {
  ++counters_.ignored;
  note(what);
}

}  // namespace pounce::lease
