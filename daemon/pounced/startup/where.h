// `pounced where`: what a start here would use, and what stands in its way; nothing is made or started. For pouncectl,
// which finds logs and faults with it. Thread: main.
#pragma once

#include <string>

#include "pounced/startup/setup.h"

namespace pounce::daemon {

struct Whereabouts {
  std::string document;  // one JSON object: what is known, and `error` where a start would fail
  bool fine = false;
};

// folders: also the other instances' folders of which no daemon may run here, by name.
Whereabouts whereabouts(const CommandLine& command, bool folders = false, const SlurmPlaces& places = {});

}  // namespace pounce::daemon
