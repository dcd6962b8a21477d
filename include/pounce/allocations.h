// The current allocations of a cluster and its past use: all users', as far as the batch system shows them. Values
// only. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pounce/cluster.h"
#include "pounce/fields.h"

namespace pounce {

// One running job, or several jobs that wait alike.
struct AllocatedJob {
  std::uint32_t job = 0, cpus = 0, nodes = 0;
  std::string user, class_name, name, node, reason;
  std::string lease;  // for a job of pounce; empty: any other job
  bool running = false, batch = false;
  std::map<std::string, std::uint32_t> gpus;  // by type; a waiting job's are the requested ones
  std::uint32_t count = 1;                            // waiting jobs of one class, with one reason, each for those GPUs
  std::int64_t submit_s = 0, start_s = 0, end_s = 0;  // unix; of several the earliest; end: by the time limit, 0: none

  static constexpr auto fields() {
    return table(field("job", &AllocatedJob::job),
                 field("cpus", &AllocatedJob::cpus),
                 field("nodes", &AllocatedJob::nodes),
                 field("user", &AllocatedJob::user),
                 field("class", &AllocatedJob::class_name),
                 field("name", &AllocatedJob::name),
                 field("node", &AllocatedJob::node),
                 field("reason", &AllocatedJob::reason),
                 field("lease", &AllocatedJob::lease),
                 field("running", &AllocatedJob::running),
                 field("batch", &AllocatedJob::batch),
                 field("gpus", &AllocatedJob::gpus),
                 field("count", &AllocatedJob::count),
                 field("submit_s", &AllocatedJob::submit_s),
                 field("start_s", &AllocatedJob::start_s),
                 field("end_s", &AllocatedJob::end_s));
  }
};

struct Allocations {
  std::string cluster;
  bool hides_others = false;  // Slurm shows users their own jobs only (PrivateData)
  std::vector<AllocatedJob> jobs;
  std::vector<GpuUse> gpus;

  static constexpr auto fields() {
    return table(field("cluster", &Allocations::cluster),
                 field("hides_others", &Allocations::hides_others),
                 field("jobs", &Allocations::jobs),
                 field("gpus", &Allocations::gpus));
  }
};

// The mode in which a job holds its GPUs.
inline constexpr char kOffload[] = "offload", kBatch[] = "batch", kReservation[] = "reservation";

// The use by one user's jobs of one class and mode within a span of time.
struct UsedShare {
  std::string user, class_name, mode;
  std::uint64_t jobs = 0;
  double gpu_s = 0, cpu_s = 0;  // held: GPUs (CPUs) times seconds
  double told_s = 0;            // the part of gpu_s with known use
  double busy_s = 0;            // the part of told_s spent computing
  double said_s = 0;            // the part of told_s known only from job comments, which users can write

  static constexpr auto fields() {
    return table(field("user", &UsedShare::user),
                 field("class", &UsedShare::class_name),
                 field("mode", &UsedShare::mode),
                 field("jobs", &UsedShare::jobs),
                 field("gpu_s", &UsedShare::gpu_s),
                 field("cpu_s", &UsedShare::cpu_s),
                 field("told_s", &UsedShare::told_s),
                 field("busy_s", &UsedShare::busy_s),
                 field("said_s", &UsedShare::said_s));
  }
};

struct UsageFacts {
  std::string cluster;
  std::int64_t from_s = 0, to_s = 0;  // unix
  bool has_database = false;          // slurmdbd exists; without it nothing below is known
  bool counts_gpus = false;           // AccountingStorageTRES has gres/gpu
  bool counts_gpu_use = false;        // AccountingStorageTRES has gres/gpuutil, which needs NVML on the nodes
  bool keeps_comments = true;         // false: jobs of pounce lack the comment that tells their use
  std::vector<UsedShare> shares;

  static constexpr auto fields() {
    return table(field("cluster", &UsageFacts::cluster),
                 field("from_s", &UsageFacts::from_s),
                 field("to_s", &UsageFacts::to_s),
                 field("has_database", &UsageFacts::has_database),
                 field("counts_gpus", &UsageFacts::counts_gpus),
                 field("counts_gpu_use", &UsageFacts::counts_gpu_use),
                 field("keeps_comments", &UsageFacts::keeps_comments),
                 field("shares", &UsageFacts::shares));
  }
};

}  // namespace pounce
