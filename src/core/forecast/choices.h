// What a waiting user could request instead, by what the cluster has and gives them now. Pure. Thread: any.
#pragma once

#include <functional>
#include <vector>

#include "model/cluster.h"
#include "model/job.h"

namespace pounce::forecast {

// Whether one node has all of it now. Two GPUs that are free on two nodes are no room for a request of two.
using HasRoom = std::function<bool(const Resources&)>;

// The first choice is to wait, the last to give up; between them are other requests, the soonest start first.
std::vector<Choice> choices(const Resources& asks, const LimitUse& limit, const Eta& eta, const ClassReport& report,
                            const HasRoom& has_room);

}  // namespace pounce::forecast
