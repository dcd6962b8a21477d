// SPDX-License-Identifier: GPL-3.0-or-later
// Everybody's jobs and all nodes, as a forecast needs them, and how long jobs really ran. Thread: main.
#pragma once

#include <chrono>
#include <ctime>

#include "core/forecast/cluster_state.h"
#include "core/forecast/runs.h"
#include "slurm_compat.h"

namespace pounce::slurm {

// Slurm's answer costs slurmctld some 7 µs a job: it is read again only after a hundred times as long as it took. Until then
// what was read serves. Empty where other users' jobs are not shown.
const forecast::Cluster& everybody();
std::time_t read_at();  // when that was
// What was made of it took so long: it is not made anew before ten times as long has passed.
void took(std::chrono::steady_clock::duration time);
// Somebody is missing there: it is read again after twenty times as long as it took.
void want_newer();
// Learned with each read, and kept in the file that POUNCE_RUNS names.
const forecast::Runs& runs();

// Others wait for something of their own: a time, a job, a limit. They are not in this one's way.
bool competes(const std::string& reason);
forecast::AnyJob any_job(const slurm_job_info_t& job);

}  // namespace pounce::slurm
