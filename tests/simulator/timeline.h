// The clock and the chance of a simulated history: those of the policy's simulator.
#pragma once

#include "policy_simulator/batch_system.h"

namespace pounce::simulator {

using namespace std::chrono_literals;
using policy_simulator::Millis;
using policy_simulator::Random;
using policy_simulator::Timeline;

// A history is short, and so are its times: those that two of the cast must agree on.
constexpr std::chrono::seconds kWatchdogIdle{40}, kWatchdogBusy{90};  // a worker that nobody speaks to ends
constexpr std::chrono::seconds kLeave{20};                            // for a worker that saves
constexpr std::chrono::seconds kLostAfter{35};                        // a worker that pounced does not hear is given up

}  // namespace pounce::simulator
