// What a person who waits could ask for instead, as the cluster is now. Values only. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "pounce/eta.h"
#include "pounce/resources.h"

namespace pounce {

struct Choice {
  std::string kind;     // "wait", "gpu", "cpu", "class", "cancel"
  std::string option;   // as --or takes it: "a100_3g.20gb", "cpu", "class=lion", "cancel"; of waiting empty
  Resources resources;  // what it asks for then
  bool now = false;     // there is room for it now
  Eta eta{};            // where there is none
  std::string against;  // the limit that it would wait for, in words; empty: none
};

}  // namespace pounce
