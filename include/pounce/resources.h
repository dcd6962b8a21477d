// The resources that a task requests and a lease provides. Values only. Thread: any.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "pounce/fields.h"

namespace pounce {

// Placement relative to the same client's other leases: on other nodes, or on the same.
enum class Placement : std::uint8_t { kAny, kSpread, kPack };
// An unknown word of a later version reads as kAny: placement is a preference, not a requirement.
constexpr auto words(Placement) { return words_of<Placement>({"any", "spread", "pack"}, Placement::kAny); }

// Upper bounds of a request: far over any existing node, and below Slurm's field sizes and special values (NO_VAL,
// INFINITE, MEM_PER_CPU). The workers of one node together have the same bounds as one worker.
inline constexpr std::uint32_t kMostWorkers = 256;
inline constexpr std::uint32_t kMostNodes = 256;
inline constexpr std::uint32_t kMostGangs = 256;
inline constexpr std::uint32_t kMostLeases = 256;
inline constexpr std::uint64_t kMostGpus = 4096;
inline constexpr std::uint64_t kMostCpus = 65'000;                    // Slurm counts a node's CPUs in 16 bits
inline constexpr std::uint64_t kMostMemoryMib = 1ull << 32;           // 4 PiB
inline constexpr std::chrono::minutes kMostTime{10 * 365 * 24 * 60};  // ten years
inline constexpr std::uint32_t kMostCuda = 999'990;                   // 999.99
inline constexpr std::uint32_t kMostNice = 2'147'483'645;             // the limit in srun --help; below 0 is for admins

// Two tasks with equal Resources can share a lease. 0 / empty = not specified: the class and partition decide.
struct Resources {
  std::string class_name;            // a class of the policy; without one, the QoS of that name
  std::uint32_t gpus = 0;            // per worker
  std::string gpu_type;              // Slurm GRES type: "a100_3g.20gb"; in a list the first is preferred: "a100,v100"
  std::uint32_t cpus = 0;            // per worker
  std::uint64_t memory_mib = 0;      // per worker
  std::chrono::minutes time{0};      // walltime of the lease; Slurm counts minutes
  std::uint32_t workers = 1;         // of one lease: processes, each with all of the above
  std::uint32_t nodes = 1;           // that the workers run on, the same number on each
  std::uint64_t gpu_memory_mib = 0;  // of each GPU, at least
  std::uint32_t cuda = 0;            // minimum CUDA version of a GPU's driver, as CUDA counts: 12040 is 12.4
  Placement placement = Placement::kAny;
  std::string not_nodes{};                          // a Slurm node list: "g1,g[3-4]"
  std::string account{}, reservation{};             // of Slurm
  std::uint32_t nice = 0;                           // Slurm's nice value relative to the user's other jobs
  std::uint32_t leases_least = 0, leases_most = 0;  // a pool: how many such leases, by demand; 0: one, no pool
  std::uint32_t gang = 0;                           // number of the client's gang, which has its own leases; 0: no gang
  std::map<std::string, std::string> slurm{};  // sbatch options without dashes; the policy decides which are allowed
  auto operator<=>(const Resources&) const = default;

  bool is_pool() const { return leases_most > 0; }
  // The resources of one lease of a pool; equal for every size of the pool.
  Resources of_one_lease() const {
    Resources one = *this;
    one.leases_least = one.leases_most = 0;
    return one;
  }

  // A pool with one lease per worker, each on any node with room.
  Resources apart() const {
    Resources one = *this;
    one.workers = 1;
    one.leases_least = 0, one.leases_most = workers < kMostLeases ? workers : kMostLeases;
    return one;
  }

  std::uint32_t workers_of_node() const { return workers / nodes; }
  // Totals of all workers, and of those on one node. Within the bounds none of them wraps.
  std::uint64_t all_gpus() const { return std::uint64_t{workers} * gpus; }
  std::uint64_t all_cpus() const { return std::uint64_t{workers} * cpus; }
  std::uint64_t node_gpus() const { return std::uint64_t{workers_of_node()} * gpus; }
  std::uint64_t node_cpus() const { return std::uint64_t{workers_of_node()} * cpus; }
  std::uint64_t node_memory_mib() const { return workers_of_node() * memory_mib; }

  static constexpr auto fields() {
    return table(
        field("class", &Resources::class_name, "a class of the policy; without one, the QoS of that name"),
        field("gpus", &Resources::gpus, "of one worker").within(0, kMostGpus),
        field("gpu_type", &Resources::gpu_type, "as Slurm names it; several: the first is preferred: `a100,v100`"),
        field("cpus", &Resources::cpus, "of one worker").within(0, kMostCpus),
        field("memory_mib", &Resources::memory_mib, "of one worker").within(0, kMostMemoryMib),
        field("time_min", &Resources::time, "how long the lease may last").within(0, kMostTime.count()),
        field("workers", &Resources::workers, "of one lease").within(1, kMostWorkers),
        field("nodes", &Resources::nodes, "of one lease, with as many workers on each")
            .within(1, kMostNodes)
            .only_if_set(),
        field("gpu_memory_mib", &Resources::gpu_memory_mib, "of each GPU, at least")
            .within(0, kMostMemoryMib)
            .only_if_set(),
        field("cuda", &Resources::cuda, "that a GPU's driver runs, at least; 12040 is 12.4")
            .within(0, kMostCuda)
            .only_if_set(),
        field("placement", &Resources::placement, "beside the other leases of the same client").only_if_set(),
        field("not_nodes", &Resources::not_nodes, "as Slurm lists nodes").as_sbatch("exclude").only_if_set(),
        field("account", &Resources::account, "of Slurm").as_sbatch("account").only_if_set(),
        field("reservation", &Resources::reservation, "of Slurm").as_sbatch("reservation").only_if_set(),
        field("nice", &Resources::nice, "of Slurm: how much later than other jobs it may start")
            .within(0, kMostNice)
            .as_sbatch("nice")
            .only_if_set(),
        field("leases_least", &Resources::leases_least, "of a pool, while there is work")
            .within(0, kMostLeases)
            .only_if_set(),
        field("leases_most", &Resources::leases_most, "of a pool; 0: one lease, no pool")
            .within(0, kMostLeases)
            .only_if_set(),
        field("gang", &Resources::gang, "which of a client's gangs has this lease to itself; 0: none")
            .within(0, kMostGangs)
            .only_if_set(),
        field("slurm", &Resources::slurm, "options of sbatch, without dashes").only_if_set());
  }
};

}  // namespace pounce
