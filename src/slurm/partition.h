// What a partition lets in, and a queued job's place among those that compete with it there. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pounce/error.h"

namespace pounce::slurm {

// The sentence names the partition where it is the partition that refuses: Slurm's own words do not say so.
struct PartitionRules {
  std::string name;
  std::vector<std::string> qos{}, not_qos{}, accounts{}, not_accounts{}, groups{};  // empty: no such rule
  std::uint32_t most_minutes = 0;                                                   // 0: no limit
  std::string own_qos{};  // its limits apply to each job there, whatever its class
};

struct PartitionRequest {
  std::string partition, qos, class_words, account;  // class_words: as the user knows the QoS
  std::uint32_t minutes = 0;
};

enum class Refused : std::uint8_t { kQos, kAccount, kGroup, kTime, kName };  // the subject of Slurm's error code

// nullopt: the partition is not the cause.
std::optional<Error> partition_refusal(Refused about, const std::vector<PartitionRules>& all,
                                       const PartitionRequest& request);

// A job's place in its line: Slurm does not store it.
struct InLine {
  std::uint32_t job = 0, priority = 0;  // 0: held, it competes with no job
  std::string partitions;               // "gpu" or "gpu,cpu"
};

// The number of jobs that Slurm considers first: in a partition that this job may use too, with a higher priority, or
// with the same priority and older.
std::int32_t jobs_ahead(const std::vector<InLine>& line, const InLine& mine);

}  // namespace pounce::slurm
