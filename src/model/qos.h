// The QoS of a Slurm, as far as a policy rules them, and what else of that Slurm decides whether their rules count.
// Values only. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pounce/fields.h"

namespace pounce {

// The about text of each field but the name is the key of a class in a policy file (src/policy/policy_keys.h).
struct Qos {
  std::string name;
  std::optional<std::chrono::minutes> walltime{};          // unset: no limit
  std::optional<std::uint32_t> running_jobs_per_user{};    // unset: no limit
  std::optional<std::uint32_t> submitted_jobs_per_user{};  // unset: no limit
  std::optional<std::uint64_t> gpus_per_user{};            // unset: no limit; 0: none
  std::uint32_t priority = 0;
  std::vector<std::string> preempts{};  // names of QoS, sorted
  std::chrono::seconds grace{0};
  bool deny_on_limit = false;

  bool operator==(const Qos&) const = default;

  static constexpr auto fields() {
    return table(
        field("name", &Qos::name), field("walltime_min", &Qos::walltime, "the longest time of a job (MaxWall)"),
        field("running_jobs_per_user", &Qos::running_jobs_per_user, "so many run at once, more wait (MaxJobsPU)"),
        field("submitted_jobs_per_user", &Qos::submitted_jobs_per_user,
              "so many wait or run, more are refused (MaxSubmitJobsPU)"),
        field("gpus_per_user", &Qos::gpus_per_user, "GPUs that one user can have at once (MaxTRESPU); 0: none"),
        field("priority", &Qos::priority, "who starts first; unset: 0"),
        field("preempts", &Qos::preempts, "classes whose jobs may be ended for its own (Preempt)"),
        field("grace_s", &Qos::grace, "how long one that is preempted may still run (GraceTime)"),
        field("deny_on_limit", &Qos::deny_on_limit,
              "what is over a limit is refused, instead of waiting (DenyOnLimit)"));
  }
};

struct QosFacts {
  std::string cluster;
  bool has_database = false;  // slurmdbd exists; without it there are no QoS, and nothing below counts
  bool enforces_limits = false, enforces_qos = false;  // AccountingStorageEnforce
  bool counts_gpus = false;                            // AccountingStorageTRES has gres/gpu
  bool preempts_by_qos = false;                        // PreemptType=preempt/qos
  std::string user;                                    // the requesting user
  bool may_write = false;                              // root, SlurmUser or an Administrator of slurmdbd
  std::vector<std::string> partitions;
  std::vector<Qos> qos;  // sorted by name

  static constexpr auto fields() {
    return table(field("cluster", &QosFacts::cluster), field("has_database", &QosFacts::has_database),
                 field("enforces_limits", &QosFacts::enforces_limits), field("enforces_qos", &QosFacts::enforces_qos),
                 field("counts_gpus", &QosFacts::counts_gpus), field("preempts_by_qos", &QosFacts::preempts_by_qos),
                 field("user", &QosFacts::user), field("may_write", &QosFacts::may_write),
                 field("partitions", &QosFacts::partitions), field("qos", &QosFacts::qos));
  }
};

}  // namespace pounce
