// `pounced where`: what a start here would use, and what stands in its way; nothing is made or started. For pouncectl,
// which finds logs and faults with it. Thread: main.
#pragma once

#include <string>

#include "pounced/setup.h"

namespace pounce::daemon {

struct Whereabouts {
  std::string document;  // one JSON object: what is known, and `error` where a start would fail
  bool fine = false;
};

Whereabouts whereabouts(const CommandLine& command, const SlurmPlaces& places = {});

}  // namespace pounce::daemon
