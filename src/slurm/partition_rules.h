// What a partition lets in, and the sentence where it is the partition that refuses: Slurm's own words do not say so. Pure. Thread: any.
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
  std::string own_qos{};  // its limits count for each job there, whatever class it has
};

struct AskedOfPartition {
  std::string partition, qos, class_words, account;  // class_words: as the user knows the QoS
  std::uint32_t minutes = 0;
};

enum class Refused : std::uint8_t { kQos, kAccount, kGroup, kTime, kName };  // what Slurm's code says that it is about

// Nothing where the partition is not the cause.
std::optional<Error> partition_refusal(Refused about, const std::vector<PartitionRules>& all, const AskedOfPartition& asked);

}  // namespace pounce::slurm
