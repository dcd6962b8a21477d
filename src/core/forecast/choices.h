// What a person who waits could ask for instead, from what the cluster has and gives them now. Pure. Thread: any.
#pragma once

#include <vector>

#include "pounce/choice.h"
#include "pounce/cluster.h"
#include "pounce/job.h"

namespace pounce::forecast {

// First waiting on, last giving up; between them what would start, the soonest first.
std::vector<Choice> choices(const Resources& asks, const LimitUse& limit, const Eta& eta, const ClassReport& report);

}  // namespace pounce::forecast
