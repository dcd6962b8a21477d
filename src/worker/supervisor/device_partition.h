// One worker's part of what the batch system gave to the whole job. Thread: any, before there are others.
#pragma once

#include <cstdint>

#include "pounce/ids.h"
#include "worker/supervisor/job_environment.h"

namespace pounce::worker {

// The lists of devices (CUDA_VISIBLE_DEVICES and its relatives) cut down to this worker's; what cannot be divided evenly stays.
Environment device_partition(Environment environment, WorkerIndex worker, std::uint32_t workers);

// Runs this process, and so its interpreter, on its part of the job's CPUs: numerical libraries start a thread for each CPU
// that they see. Only where the batch system confines the job to its CPUs and they divide evenly.
void take_cpu_partition(const Environment& environment, WorkerIndex worker, std::uint32_t workers);

}  // namespace pounce::worker
