// Who holds what of a cluster now, and what was used of it before: everybody's, as far as the batch system shows it.
// Values only. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pounce/cluster.h"

namespace pounce {

// A job that waits or runs.
struct HeldJob {
  std::uint32_t job = 0, cpus = 0, nodes = 0;
  std::string user, class_name, name, node, reason;
  std::string lease;  // of a job of pounce; empty: another job
  bool running = false, batch = false;
  std::map<std::string, std::uint32_t> gpus;  // by type; of one that waits: as asked
  std::int64_t submit_s = 0, start_s = 0, end_s = 0;  // unix; end: by its time limit, 0: none
};

struct Holdings {
  std::string cluster;
  bool hides_others = false;  // Slurm shows people their own jobs only (PrivateData)
  std::vector<HeldJob> jobs;
  std::vector<GpuUse> gpus;
};

// How a job came to hold its GPUs.
inline constexpr char kOffload[] = "offload", kBatch[] = "batch", kReservation[] = "reservation";

// What one person's jobs of one class and mode have held within a span of time.
struct UsedShare {
  std::string user, class_name, mode;
  std::uint64_t jobs = 0;
  double gpu_s = 0, cpu_s = 0;  // held: GPUs (CPUs) times seconds
  double told_s = 0;            // of gpu_s: those of which it is known what was done with them
  double busy_s = 0;            // of told_s: computing
};

struct UsageFacts {
  std::string cluster;
  std::int64_t from_s = 0, to_s = 0;  // unix
  bool has_database = false;          // slurmdbd: without it nothing below is known
  bool counts_gpus = false;           // AccountingStorageTRES has gres/gpu
  bool counts_gpu_use = false;        // and gres/gpuutil: which needs NVML on the nodes
  bool keeps_comments = true;         // false: jobs of pounce without the comment that tells what became of their time
  std::vector<UsedShare> shares;
};

}  // namespace pounce
