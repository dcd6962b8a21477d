// What a cluster tells about itself, and which jobs hold what of it now: of all users, as far as the batch system shows
// it. Values only. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/job.h"
#include "pounce/fields.h"

namespace pounce {

struct ClassLimits {
  std::string name;
  std::chrono::minutes max_time{0};                                 // 0 = none
  std::uint32_t max_running_per_user = 0, max_submit_per_user = 0;  // 0 = none

  static constexpr auto fields() {
    return table(field("class", &ClassLimits::name), field("max_time_min", &ClassLimits::max_time, "0: none"),
                 field("max_running_per_user", &ClassLimits::max_running_per_user, "0: none"),
                 field("max_submit_per_user", &ClassLimits::max_submit_per_user, "0: none"));
  }
};

struct ClusterFacts {
  std::string cluster, version;    // "pounce", "slurm 22.05.8"; local: "local"
  std::string munge_socket;        // from slurm.conf's AuthInfo; empty = default
  std::string auth_type;           // "auth/munge"
  std::string controller_address;  // used to find the address where compute nodes reach us
  std::string default_partition, default_class;
  bool associated = true;  // false: no class is open to this user; then `classes` lists all classes
  std::vector<ClassLimits> classes;

  static constexpr auto fields() {
    return table(field("cluster", &ClusterFacts::cluster), field("version", &ClusterFacts::version),
                 field("munge_socket", &ClusterFacts::munge_socket, "empty: default"),
                 field("auth_type", &ClusterFacts::auth_type),
                 field("controller_address", &ClusterFacts::controller_address),
                 field("default_partition", &ClusterFacts::default_partition),
                 field("default_class", &ClusterFacts::default_class),
                 field("associated", &ClusterFacts::associated, "false: no class is open to this user"),
                 field("classes", &ClusterFacts::classes));
  }
};

// One user's limits in a class and current use of it. -1: no limit.
struct ClassUse {
  std::string name;
  bool preset = false;                               // the default class
  std::int64_t time_min = -1;                        // of one job
  std::int64_t jobs_most = -1, jobs_used = 0;        // running at the same time
  std::int64_t submits_most = -1, submits_used = 0;  // waiting or running
  std::int64_t gpus_most = -1, gpus_used = 0;        // of all this user's jobs at the same time
  std::int64_t gpus_job = -1;                        // of one job
  std::vector<std::string> instead{};                // classes that the site's policy uses when this one is full

  static constexpr auto fields() {
    return table(
        field("class", &ClassUse::name), field("preset", &ClassUse::preset, "taken where no class is named"),
        field("time_min", &ClassUse::time_min, "the longest of one job; -1, here and below: no such limit"),
        field("jobs_most", &ClassUse::jobs_most, "running at a time"), field("jobs_used", &ClassUse::jobs_used),
        field("submits_most", &ClassUse::submits_most, "waiting or running"),
        field("submits_used", &ClassUse::submits_used),
        field("gpus_most", &ClassUse::gpus_most, "of all this user's jobs at a time"),
        field("gpus_used", &ClassUse::gpus_used), field("gpus_job", &ClassUse::gpus_job, "of one job"),
        field("instead", &ClassUse::instead, "classes that the site names for when this one is full").only_if_set());
  }
};

struct GpuUse {
  std::string type;  // empty: the site names none
  std::uint32_t total = 0, free = 0;
  Eta eta{};  // for one more request, if none is free

  static constexpr auto fields() {
    return table(field("gpu_type", &GpuUse::type, "empty: the site names none"), field("total", &GpuUse::total),
                 field("free", &GpuUse::free, "on nodes that take work"),
                 field("eta", &GpuUse::eta, "of one more request, where none is free"));
  }
};

struct ClassReport {
  std::vector<ClassUse> classes;  // open to this user, by name
  std::vector<GpuUse> gpus;       // of the whole cluster
  std::int32_t cpus_free = -1;    // -1: not known
  Eta cpu_eta{};                  // for one more request for a CPU, if none is free

  static constexpr auto fields() {
    return table(field("classes", &ClassReport::classes, "open to this user"),
                 field("gpus", &ClassReport::gpus, "of the whole cluster"),
                 field("cpus_free", &ClassReport::cpus_free, "-1: not known"),
                 field("cpu_eta", &ClassReport::cpu_eta, "of one more request for a CPU, where none is free"));
  }
};

struct NodeUse {
  std::string name;
  std::vector<std::string> partitions{};
  bool takes_work = true;  // false: drained or down, so nothing starts there now
  std::uint32_t cpus = 0, cpus_free = 0;
  std::uint64_t memory_mib = 0, memory_free_mib = 0;
  std::vector<GpuUse> gpus{};

  static constexpr auto fields() {
    return table(field("name", &NodeUse::name), field("partitions", &NodeUse::partitions),
                 field("takes_work", &NodeUse::takes_work), field("cpus", &NodeUse::cpus),
                 field("cpus_free", &NodeUse::cpus_free), field("memory_mib", &NodeUse::memory_mib),
                 field("memory_free_mib", &NodeUse::memory_free_mib), field("gpus", &NodeUse::gpus));
  }
};

// Everything that decides where a request could run, now or ever. Large: one entry per node.
struct ClusterSnapshot {
  std::string default_partition;
  ClassReport use;
  std::vector<NodeUse> nodes;
  std::vector<std::string> not_nodes;  // the request's node list, expanded to names

  static constexpr auto fields() {
    return table(field("default_partition", &ClusterSnapshot::default_partition), field("use", &ClusterSnapshot::use),
                 field("nodes", &ClusterSnapshot::nodes), field("not_nodes", &ClusterSnapshot::not_nodes));
  }
};

// One running job, or several jobs that wait alike.
struct AllocatedJob {
  std::uint32_t job = 0, cpus = 0, nodes = 0;
  std::string user, class_name, name, node, reason;
  std::string lease;  // for a job of pounce; empty: any other job
  bool running = false, batch = false;
  std::map<std::string, std::uint32_t> gpus;          // by type; a waiting job's are the requested ones
  std::uint32_t count = 1;                            // waiting jobs of one class, with one reason, each for those GPUs
  std::int64_t submit_s = 0, start_s = 0, end_s = 0;  // unix; of several the earliest; end: by the time limit, 0: none

  static constexpr auto fields() {
    return table(field("job", &AllocatedJob::job), field("cpus", &AllocatedJob::cpus),
                 field("nodes", &AllocatedJob::nodes), field("user", &AllocatedJob::user),
                 field("class", &AllocatedJob::class_name), field("name", &AllocatedJob::name),
                 field("node", &AllocatedJob::node), field("reason", &AllocatedJob::reason),
                 field("lease", &AllocatedJob::lease), field("running", &AllocatedJob::running),
                 field("batch", &AllocatedJob::batch), field("gpus", &AllocatedJob::gpus),
                 field("count", &AllocatedJob::count), field("submit_s", &AllocatedJob::submit_s),
                 field("start_s", &AllocatedJob::start_s), field("end_s", &AllocatedJob::end_s));
  }
};

struct Allocations {
  std::string cluster;
  bool hides_others = false;  // Slurm shows users their own jobs only (PrivateData)
  std::vector<AllocatedJob> jobs;
  std::vector<GpuUse> gpus;

  static constexpr auto fields() {
    return table(field("cluster", &Allocations::cluster), field("hides_others", &Allocations::hides_others),
                 field("jobs", &Allocations::jobs), field("gpus", &Allocations::gpus));
  }
};

}  // namespace pounce
