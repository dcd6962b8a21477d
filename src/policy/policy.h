// What a policy file says, after all its checks: values with every name resolved. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pounce/qos.h"

namespace pounce::policy {

struct Class {
  std::string name;
  std::string partition, account;  // empty: Slurm's default
  Qos qos;                         // its name is the class's where the file names none
};

struct Leasing {
  std::optional<std::chrono::seconds> keep_warm, idle_release, poll_max;
  std::optional<std::uint32_t> starts_per_hour;
};

struct Policy {
  std::vector<Class> classes;  // sorted by name
  Leasing leasing;
  std::map<std::string, std::uint64_t> gpu_memory_mib;        // by Slurm's name of the GPU type
  std::map<std::string, std::vector<std::string>> fallbacks;  // class -> those to take instead, the best first
  std::vector<std::string> slurm_options;                     // of sbatch, which people may pass on
  std::string prologue, interpreter, container, interface;
  std::optional<std::pair<std::uint16_t, std::uint16_t>> ports;
};

std::vector<Qos> all_qos(const Policy& policy);

}  // namespace pounce::policy
