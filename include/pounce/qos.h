// The QoS of a Slurm, as far as a policy rules them, and what else of that Slurm decides whether their rules count.
// Values only. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pounce {

struct Qos {
  std::string name;
  std::optional<std::chrono::minutes> walltime{};        // unset: no limit
  std::optional<std::uint32_t> running_jobs_per_user{};  // unset: no limit
  std::optional<std::uint64_t> gpus_per_user{};          // unset: no limit; 0: none
  std::uint32_t priority = 0;
  std::vector<std::string> preempts{};  // names of QoS, sorted
  std::chrono::seconds grace{0};
  bool deny_on_limit = false;

  bool operator==(const Qos&) const = default;
};

struct QosFacts {
  std::string cluster;
  bool has_database = false;  // slurmdbd; without it there are no QoS, and nothing below counts
  bool enforces_limits = false, enforces_qos = false;  // AccountingStorageEnforce
  bool counts_gpus = false;                            // AccountingStorageTRES has gres/gpu
  bool preempts_by_qos = false;                        // PreemptType=preempt/qos
  std::string user;                                    // who asks
  bool may_write = false;                              // root, SlurmUser or an Administrator of slurmdbd
  std::vector<std::string> partitions;
  std::vector<Qos> qos;  // sorted by name
};

}  // namespace pounce
