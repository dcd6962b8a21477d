// SPDX-License-Identifier: GPL-3.0-or-later
// When a queued job is expected to start, and what that is computed from. Thread: main.
#pragma once

#include <chrono>
#include <ctime>
#include <vector>

#include "core/forecast/cluster.h"
#include "core/forecast/replay.h"
#include "model/job.h"
#include "pounce-slurm/slurm_compat.h"

namespace pounce::slurm {

// All users' jobs and all nodes, as a forecast needs them, and how long jobs really ran.

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

// When a queued job is expected to start.

// Unknown if the job waits for something without a time: a user, a repair, a limit other than on what is used at
// once.
Eta eta_of(const slurm_job_info_t& job, const JobView& view);
// The same for all jobs, in a second at most: those not reached keep their last estimate.
void expect_starts(const std::vector<const slurm_job_info_t*>& jobs, std::vector<JobView>& views);
// For another job like this behind all that wait now, since its priority is unknown.
Eta eta_of_another(forecast::AnyJob job);

}  // namespace pounce::slurm
