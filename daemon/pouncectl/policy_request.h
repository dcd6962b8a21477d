// Parses a request from JSON with the keys of Client.options. Pure. Thread: any.
#pragma once

#include <string>

#include "pounce/resources.h"
#include "pounce/result.h"

namespace pounce::ctl {

// {"gpus": 1, "gpu_type": ["a100", "v100"], "gpu_memory": ">=20GB", "time": "20min"}. kBadRequest names the fault.
Result<Resources> request_from(const std::string& text);

}  // namespace pounce::ctl
