// SPDX-License-Identifier: GPL-3.0-or-later
// libslurm's error numbers as ours: one table with a default branch (gotchas S5). Thread: main.
#pragma once

#include <string>

#include "pounce/error.h"

namespace pounce::slurm {

enum class Doing { kReading, kSubmitting, kCancelling };

// 0 is fine; else the code is rc when positive, errno when not (gotchas S5).
int slurm_code(int rc);
Error slurm_error(int code, Doing doing);

}  // namespace pounce::slurm
