// SPDX-License-Identifier: GPL-3.0-or-later
// What jobs have held, from slurmdbd. Thread: main.
#pragma once

#include <cstdint>

#include "pounce/result.h"
#include "pounce/usage.h"

namespace pounce::slurm {

// From that moment on until now.
Result<UsageFacts> read_usage(std::int64_t from_s);

}  // namespace pounce::slurm
