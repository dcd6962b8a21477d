// The clock and the chance of a simulated history: those of the policy's simulator.
#pragma once

#include "policy_simulator/timeline.h"

namespace pounce::simulator {

using namespace std::chrono_literals;
using policy_simulator::Millis;
using policy_simulator::Random;
using policy_simulator::Timeline;

}  // namespace pounce::simulator
