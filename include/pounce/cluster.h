// What a cluster tells about itself. Values only. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "pounce/eta.h"

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

// What one person may use of a class and uses of it now. -1: there is no such limit.
struct ClassUse {
  std::string name;
  bool preset = false;                              // taken where no class is named
  std::int64_t time_min = -1;                       // of one job
  std::int64_t jobs_most = -1, jobs_used = 0;       // running at a time
  std::int64_t submits_most = -1, submits_used = 0;  // waiting or running
  std::int64_t gpus_most = -1, gpus_used = 0;       // of all this person's jobs at a time
  std::int64_t gpus_job = -1;                       // of one job
  std::vector<std::string> instead{};               // classes that the site's policy takes where this one is full
};

struct GpuUse {
  std::string type;  // empty: the site names none
  std::uint32_t total = 0, free = 0;
  Eta eta{};         // of one more request for one of them, where none is free
};

struct ClassReport {
  std::vector<ClassUse> classes;  // open to this person, by name
  std::vector<GpuUse> gpus;       // of the whole cluster
  std::int32_t cpus_free = -1;    // -1: not known
  Eta cpu_eta{};                  // of one more request for a CPU, where none is free
};

struct NodeUse {
  std::string name;
  std::vector<std::string> partitions{};
  bool takes_work = true;  // false: drained or down, nothing starts there now
  std::uint32_t cpus = 0, cpus_free = 0;
  std::uint64_t memory_mib = 0, memory_free_mib = 0;
  std::vector<GpuUse> gpus{};
};

// What decides where a request could run, now or ever. Large: one entry for each node.
struct Survey {
  std::string default_partition;
  ClassReport use;
  std::vector<NodeUse> nodes;
  std::vector<std::string> not_nodes;  // the names that a request's list of them stands for
};

}  // namespace pounce
