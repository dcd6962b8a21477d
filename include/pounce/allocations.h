// Who holds what of a cluster now, and what was used of it before: everybody's, as far as the batch system shows it.
// Values only. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pounce/cluster.h"
#include "pounce/fields.h"

namespace pounce {

// A job that runs, or several that wait alike.
struct AllocatedJob {
  std::uint32_t job = 0, cpus = 0, nodes = 0;
  std::string user, class_name, name, node, reason;
  std::string lease;  // of a job of pounce; empty: another job
  bool running = false, batch = false;
  std::map<std::string, std::uint32_t> gpus;  // by type; of one that waits: as asked
  std::uint32_t count = 1;                            // that wait: of one class, for one reason, each for those GPUs
  std::int64_t submit_s = 0, start_s = 0, end_s = 0;  // unix; of several the first; end: by its time limit, 0: none

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
  bool hides_others = false;  // Slurm shows people their own jobs only (PrivateData)
  std::vector<AllocatedJob> jobs;
  std::vector<GpuUse> gpus;

  static constexpr auto fields() {
    return table(field("cluster", &Allocations::cluster),
                 field("hides_others", &Allocations::hides_others),
                 field("jobs", &Allocations::jobs),
                 field("gpus", &Allocations::gpus));
  }
};

// How a job came to hold its GPUs.
inline constexpr char kOffload[] = "offload", kBatch[] = "batch", kReservation[] = "reservation";

// What one user's jobs of one class and mode have held within a span of time.
struct UsedShare {
  std::string user, class_name, mode;
  std::uint64_t jobs = 0;
  double gpu_s = 0, cpu_s = 0;  // held: GPUs (CPUs) times seconds
  double told_s = 0;            // of gpu_s: those of which it is known what was done with them
  double busy_s = 0;            // of told_s: computing
  double said_s = 0;            // of told_s: those of which only the jobs' own comments tell, which their users can write

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
  bool has_database = false;          // slurmdbd: without it nothing below is known
  bool counts_gpus = false;           // AccountingStorageTRES has gres/gpu
  bool counts_gpu_use = false;        // and gres/gpuutil: which needs NVML on the nodes
  bool keeps_comments = true;         // false: jobs of pounce without the comment that tells what became of their time
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
