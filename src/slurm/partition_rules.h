// The access rules of a partition, and the error text when the partition refuses a job: Slurm's own message does not
// say so. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pounce/error.h"

namespace pounce::slurm {

struct PartitionRules {
  std::string name;
  std::vector<std::string> qos{}, not_qos{}, accounts{}, not_accounts{}, groups{};  // empty: no such rule
  std::uint32_t most_minutes = 0;                                         // 0: no limit
  std::string own_qos{};  // its limits apply to each job there, whatever its class
};

struct PartitionRequest {
  std::string partition, qos, class_words, account;  // class_words: as the user knows the QoS
  std::uint32_t minutes = 0;
};

enum class Refused : std::uint8_t { kQos, kAccount, kGroup, kTime, kName };  // the subject of Slurm's error code

// nullopt: the partition is not the cause.
std::optional<Error> partition_refusal(Refused about, const std::vector<PartitionRules>& all, const PartitionRequest& request);

}  // namespace pounce::slurm
