// SPDX-License-Identifier: GPL-3.0-or-later
// Everybody's jobs that wait or run, as far as Slurm shows them to whoever asks. Thread: main.
#pragma once

#include "pounce/result.h"
#include "pounce/usage.h"

namespace pounce::slurm {

Result<Holdings> read_holdings();

}  // namespace pounce::slurm
