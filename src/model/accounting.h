// What Slurm's accounting says: a row for each job, the events of nodes, and what this site records at all. Everything
// that reads the past (pouncectl usage, the store) works on these rows. Values only. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pounce/fields.h"

namespace pounce {

// The mode in which a job holds its GPUs.
inline constexpr char kOffload[] = "offload", kBatch[] = "batch", kReservation[] = "reservation";

// One run of a job: a requeued job has a row for each run, with one id and other submit times. A started array element
// has its own row; those that still wait share one. Times are unix seconds, 0: not yet. -1: not recorded.
struct AccountedJob {
  std::uint32_t job = 0, array_job = 0, het_job = 0;  // 0: no array, no heterogeneous job
  std::string array_tasks;                            // "7" of a started element; "8-99%5" of those that wait
  std::string user, account, wckey, class_name, partition, name, submit_line, state;
  std::string nodes;  // "g[1-3,7]"
  std::int64_t submit_s = 0, eligible_s = 0, start_s = 0, end_s = 0;
  std::int64_t suspended_s = 0;  // within start to end; its GPUs stay held
  std::int64_t limit_s = 0;      // 0: none
  std::int32_t exit_code = 0, exit_signal = 0;
  std::uint32_t gpus = 0, cpus = 0, node_count = 0;  // allocated
  std::uint32_t gpus_requested = 0, cpus_requested = 0;
  std::map<std::string, std::uint32_t> gpu_types;  // allocated, where the site records them by type
  std::int64_t memory_mib = -1;                    // allocated
  std::string mode;
  std::string lease;                      // of a job of pounce, as its comment says
  std::int64_t busy_s = -1, idle_s = -1;  // of a lease, as its comment says
  std::int64_t gpu_use_permille = -1;     // mean use of all its GPUs, measured by Slurm
  std::int64_t gpu_memory_mib = -1, memory_peak_mib = -1, cpu_used_s = -1;  // of its steps
  std::int64_t energy_j = -1;
  bool lost = false;  // without an end, and slurmctld does not know it

  static constexpr auto fields() {
    return table(
        field("job", &AccountedJob::job), field("array_job", &AccountedJob::array_job).only_if_set(),
        field("het_job", &AccountedJob::het_job).only_if_set(),
        field("array_tasks", &AccountedJob::array_tasks).only_if_set(), field("user", &AccountedJob::user),
        field("account", &AccountedJob::account), field("wckey", &AccountedJob::wckey).only_if_set(),
        field("class", &AccountedJob::class_name), field("partition", &AccountedJob::partition),
        field("name", &AccountedJob::name), field("submit_line", &AccountedJob::submit_line).only_if_set(),
        field("state", &AccountedJob::state), field("nodes", &AccountedJob::nodes).only_if_set(),
        field("submit_s", &AccountedJob::submit_s), field("eligible_s", &AccountedJob::eligible_s),
        field("start_s", &AccountedJob::start_s), field("end_s", &AccountedJob::end_s),
        field("suspended_s", &AccountedJob::suspended_s).only_if_set(),
        field("limit_s", &AccountedJob::limit_s).only_if_set(),
        field("exit_code", &AccountedJob::exit_code).only_if_set(),
        field("exit_signal", &AccountedJob::exit_signal).only_if_set(), field("gpus", &AccountedJob::gpus),
        field("cpus", &AccountedJob::cpus), field("node_count", &AccountedJob::node_count),
        field("gpus_requested", &AccountedJob::gpus_requested).only_if_set(),
        field("cpus_requested", &AccountedJob::cpus_requested).only_if_set(),
        field("gpu_types", &AccountedJob::gpu_types).only_if_set(),
        field("memory_mib", &AccountedJob::memory_mib).only_if_set(), field("mode", &AccountedJob::mode),
        field("lease", &AccountedJob::lease).only_if_set(), field("busy_s", &AccountedJob::busy_s).only_if_set(),
        field("idle_s", &AccountedJob::idle_s).only_if_set(),
        field("gpu_use_permille", &AccountedJob::gpu_use_permille).only_if_set(),
        field("gpu_memory_mib", &AccountedJob::gpu_memory_mib).only_if_set(),
        field("memory_peak_mib", &AccountedJob::memory_peak_mib).only_if_set(),
        field("cpu_used_s", &AccountedJob::cpu_used_s).only_if_set(),
        field("energy_j", &AccountedJob::energy_j).only_if_set(), field("lost", &AccountedJob::lost).only_if_set());
  }
};

// Jobs by their number in the database. `last` is where the next page begins.
struct AccountedPage {
  std::vector<AccountedJob> jobs;
  std::uint64_t last = 0;
  bool more = false;

  static constexpr auto fields() {
    return table(field("jobs", &AccountedPage::jobs), field("last", &AccountedPage::last),
                 field("more", &AccountedPage::more));
  }
};

// A time in which a node took no work. An empty name: the whole cluster was registered anew.
struct NodeEvent {
  std::string node, reason;
  std::int64_t start_s = 0, end_s = 0;  // unix; end 0: not over
  bool down = false;                    // its jobs ended; false: drained, its jobs went on

  static constexpr auto fields() {
    return table(field("node", &NodeEvent::node), field("reason", &NodeEvent::reason),
                 field("start_s", &NodeEvent::start_s), field("end_s", &NodeEvent::end_s),
                 field("down", &NodeEvent::down));
  }
};

struct AccountingFacts {
  std::string cluster;
  std::int64_t now_s = 0;       // unix
  bool has_database = false;    // slurmdbd exists; without it nothing below is known
  bool counts_gpus = false;     // AccountingStorageTRES has gres/gpu
  bool counts_gpu_use = false;  // AccountingStorageTRES has gres/gpuutil; without NVML on the nodes nothing is measured
  bool hides_others = false;    // this caller sees their own jobs only (PrivateData)
  bool sees_all = false;        // this caller is an operator of Slurm's
  std::map<std::string, std::string> node_gpus;  // the GPU model of each node that has one model

  static constexpr auto fields() {
    return table(field("cluster", &AccountingFacts::cluster), field("now_s", &AccountingFacts::now_s),
                 field("has_database", &AccountingFacts::has_database),
                 field("counts_gpus", &AccountingFacts::counts_gpus),
                 field("counts_gpu_use", &AccountingFacts::counts_gpu_use),
                 field("hides_others", &AccountingFacts::hides_others), field("sees_all", &AccountingFacts::sees_all),
                 field("node_gpus", &AccountingFacts::node_gpus));
  }
};

}  // namespace pounce
