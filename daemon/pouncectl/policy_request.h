// A request as a JSON object, in the words of Client.options. Pure. Thread: any.
#pragma once

#include <string>

#include "pounce/resources.h"
#include "pounce/result.h"

namespace pounce::ctl {

// {"gpus": 1, "gpu_type": ["a100", "v100"], "gpu_memory": ">=20GB", "time": "20min"}. kBadRequest names what is wrong.
Result<Resources> request_from(const std::string& text);

}  // namespace pounce::ctl
