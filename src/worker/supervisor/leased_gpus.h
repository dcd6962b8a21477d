// A worker's GPUs and CPUs: its part of what the batch system gave to the whole job, whether the GPUs that it sees are
// those of the job (docs/gotchas.md, G7), and how pounced is told of them. Thread: any.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "device/gpu_meter.h"
#include "model/ids.h"
#include "model/worker_report.h"
#include "pounce/error.h"
#include "worker/supervisor/supervisor_options.h"

namespace pounce::worker {

// One worker's part of what the batch system gave to the whole job. Thread: any, before there are others.

// Cuts the lists of devices (CUDA_VISIBLE_DEVICES and its relatives) down to this worker's part. A list that cannot
// be divided evenly stays.
Environment device_partition(Environment environment, WorkerIndex worker, std::uint32_t workers);

// Runs this process, and so its interpreter, on its part of the job's CPUs, because numerical libraries start a
// thread for each CPU that they see. Does so only where the batch system confines the job to its CPUs and they divide
// evenly.
void take_cpu_partition(const Environment& environment, WorkerIndex worker, std::uint32_t workers);

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

std::vector<model::GpuRow> gpu_rows(const std::vector<device::DeviceFacts>& facts,
                                    const std::vector<device::GpuFailure>& failures);

}  // namespace pounce::worker
