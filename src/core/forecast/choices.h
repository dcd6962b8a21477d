// What a user who waits could ask for instead, from what the cluster has and gives them now. Pure. Thread: any.
#pragma once

#include <functional>
#include <vector>

#include "pounce/choice.h"
#include "pounce/cluster.h"
#include "pounce/job.h"

namespace pounce::forecast {

// Whether one node has all of it now. GPUs that are free on several nodes are room for nobody who asks for two.
using HasRoom = std::function<bool(const Resources&)>;

// First waiting on, last giving up; between them what would start, the soonest first.
std::vector<Choice> choices(const Resources& asks, const LimitUse& limit, const Eta& eta, const ClassReport& report,
                            const HasRoom& has_room);

}  // namespace pounce::forecast
