// What a task asks for, and what a lease gives. Values only. Thread: any.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "pounce/fields.h"

namespace pounce {

// Beside the other leases of the same client: on other nodes than theirs, or on the same.
enum class Placement : std::uint8_t { kAny, kSpread, kPack };
// One of a later version is a wish that is not known, no condition.
constexpr auto words(Placement) { return words_of<Placement>({"any", "spread", "pack"}, Placement::kAny); }

// Two tasks with equal Resources can share a lease. 0 / empty = "not said": the class and partition decide.
struct Resources {
  std::string class_name;            // a class of the policy; without one, the QoS of that name
  std::uint32_t gpus = 0;            // per worker
  std::string gpu_type;              // Slurm GRES type, e.g. "a100_3g.20gb"; of several the first is preferred: "a100,v100"
  std::uint32_t cpus = 0;            // per worker
  std::uint64_t memory_mib = 0;      // per worker
  std::chrono::minutes time{0};      // walltime of the lease; Slurm counts minutes
  std::uint32_t workers = 1;         // of one lease: processes on one node, each with all of the above
  std::uint64_t gpu_memory_mib = 0;  // of each GPU, at least
  std::uint32_t cuda = 0;            // that a GPU's driver runs, at least; as CUDA counts: 12040 is 12.4
  Placement placement = Placement::kAny;
  std::string not_nodes{};           // as Slurm lists them: "g1,g[3-4]"
  std::string account{}, reservation{};  // of Slurm
  std::uint32_t nice = 0;                // of Slurm: so much later than the user's other jobs; at most 2147483645
  std::map<std::string, std::string> slurm{};  // options of sbatch, without dashes; the policy says which may be passed on
  auto operator<=>(const Resources&) const = default;

  std::uint32_t all_gpus() const { return workers * gpus; }
  std::uint64_t all_memory_mib() const { return workers * memory_mib; }

  static constexpr auto fields() {
    return table(field("class", &Resources::class_name, "a class of the policy; without one, the QoS of that name"),
                 field("gpus", &Resources::gpus, "of one worker"),
                 field("gpu_type", &Resources::gpu_type, "as Slurm names it; several: the first is preferred: `a100,v100`"),
                 field("cpus", &Resources::cpus, "of one worker"),
                 field("memory_mib", &Resources::memory_mib, "of one worker"),
                 field("time_min", &Resources::time, "how long the lease may last"),
                 field("workers", &Resources::workers, "of one lease, on one node"),
                 field("gpu_memory_mib", &Resources::gpu_memory_mib, "of each GPU, at least").only_if_set(),
                 field("cuda", &Resources::cuda, "that a GPU's driver runs, at least; 12040 is 12.4").only_if_set(),
                 field("placement", &Resources::placement, "beside the other leases of the same client").only_if_set(),
                 field("not_nodes", &Resources::not_nodes, "as Slurm lists nodes").only_if_set(),
                 field("account", &Resources::account, "of Slurm").only_if_set(),
                 field("reservation", &Resources::reservation, "of Slurm").only_if_set(),
                 field("nice", &Resources::nice, "of Slurm: how much later than other jobs it may start").only_if_set(),
                 field("slurm", &Resources::slurm, "options of sbatch, without dashes").only_if_set());
  }
};

}  // namespace pounce
