// `pounced where`: reports what a start here would use and what stands in its way; it makes and starts nothing.
// pouncectl finds logs and faults with it. Thread: main.
#pragma once

#include <string>

#include "pounced/startup/setup.h"

namespace pounce::daemon {

struct Whereabouts {
  std::string document;  // one JSON object: what is known, and `error` where a start would fail
  bool fine = false;
};

// folders: also names the other instances' folders in which no daemon can be running here.
Whereabouts whereabouts(const CommandLine& command, bool folders = false, const SlurmPlaces& places = {});

}  // namespace pounce::daemon
