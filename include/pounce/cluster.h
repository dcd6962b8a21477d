// What a cluster tells about itself. Values only. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace pounce {

struct ClassLimits {
  std::string name;
  std::chrono::minutes max_time{0};  // 0 = none
  std::uint32_t max_running_per_user = 0, max_submit_per_user = 0;  // 0 = none
};

struct ClusterFacts {
  std::string cluster, version;      // "pounce", "slurm 22.05.8"; local: "local"
  std::string munge_socket;          // from slurm.conf's AuthInfo; empty = default
  std::string auth_type;             // "auth/munge"
  std::string controller_address;    // to find the address by which compute nodes reach us
  std::string default_partition, default_class;
  bool associated = true;           // false: no class is open to this user; then `classes` are all there are
  std::vector<ClassLimits> classes;
};

}  // namespace pounce
