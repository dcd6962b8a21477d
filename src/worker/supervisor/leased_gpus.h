// Checks whether a worker's GPUs are those that the batch system gave to its job (docs/gotchas.md, G7), and describes
// them for pounced. Thread: any.
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

// Compares CUDA_VISIBLE_DEVICES with Slurm's own list. It may name the GPUs as Slurm does, count the job's own from 0
// (where cgroups hide the others), or leave some out. A value that is not a list of numbers proves nothing and
// passes. Takes the lists of the whole job, since a worker's part of either does not show how it counts. Pure.
// kDeviceUnavailable: it names other GPUs.
// on_batch_host: on other hosts SLURM_JOB_GPUS is the batch host's, and only the step's own list counts.
Result<void> within_slurms(const Environment& environment, bool on_batch_host = true);

// The CUDA_VISIBLE_DEVICES that a process was started with; nullopt: it cannot be read.
struct VisibleGpus {
  std::optional<std::string> list;  // nullopt: not set, so the process sees all GPUs
};
std::optional<VisibleGpus> visible_to(pid_t process);

// nullopt (not known) is no failure. Pure.
Result<void> same_gpus(const std::optional<device::GpuMeter::Uuids>& uuids, bool listed);

std::vector<model::GpuRow> gpu_rows(const std::vector<device::DeviceFacts>& facts, const std::vector<device::GpuFailure>& failures);

}  // namespace pounce::worker
