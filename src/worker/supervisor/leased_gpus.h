// Whether a worker's GPUs are those that the batch system gave to its job (docs/gotchas.md, G7), and how pounced is told of them.
// Thread: any.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "device/gpu_meter.h"
#include "model/gpu_row.h"
#include "pounce/result.h"

namespace pounce::worker {

// CUDA_VISIBLE_DEVICES against Slurm's own list: it may name those GPUs as Slurm does, or count the job's own from 0, as where cgroups hide
// the others, or leave some out. What is not a list of numbers says nothing. Of the whole job: a worker's part of either list does not show how it counts.
// kDeviceUnavailable: there are others in it. Pure.
// on_batch_host: elsewhere SLURM_JOB_GPUS is that host's, and the step's own list alone counts.
Result<void> within_slurms(const Environment& environment, bool on_batch_host = true);

// What a process was started with; nothing: it cannot be seen.
struct VisibleGpus {
  std::optional<std::string> list;  // without one it sees all that there are
};
std::optional<VisibleGpus> visible_to(pid_t process);

// nothing known is no failure. Pure.
Result<void> same_gpus(const std::optional<device::GpuMeter::Uuids>& uuids, bool listed);

std::vector<model::GpuRow> gpu_rows(const std::vector<device::DeviceFacts>& facts, const std::vector<device::GpuFailure>& failures);

}  // namespace pounce::worker
