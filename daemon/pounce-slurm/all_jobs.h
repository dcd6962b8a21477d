// SPDX-License-Identifier: GPL-3.0-or-later
// All users' jobs and all nodes for a forecast, and how long jobs really ran. Thread: main.
#pragma once

#include <chrono>
#include <ctime>

#include "core/forecast/cluster_state.h"
#include "core/forecast/runs.h"
#include "slurm_compat.h"

namespace pounce::slurm {

// Reads the queue, or returns the last reading until a hundred times its duration has passed: it costs slurmctld some
// 7 µs a job. Empty if other users' jobs are hidden.
const forecast::Cluster& latest_cluster();
std::time_t read_at();  // the time of the last reading
// Reports the duration of a forecast: the next reading is at least ten times as long away.
void took(std::chrono::steady_clock::duration time);
// A job is missing in it: the next reading comes after twenty times the duration of the last.
void want_newer();
// Run times learned with each reading, kept in the file of POUNCE_RUNS.
const forecast::Runs& runs();

// True if a job waits for room. Others wait for a time, a job or a limit, and do not delay this one.
bool competes(const std::string& reason);
forecast::AnyJob any_job(const slurm_job_info_t& job);

}  // namespace pounce::slurm
