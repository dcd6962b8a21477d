// The cluster as a forecast needs it: what its nodes have, what runs, what waits; and one job's line, cut out of it.
// Plain values and pure. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/forecast/replay.h"
#include "model/job.h"

namespace pounce::forecast {

using Things = std::map<std::string, std::uint64_t>;  // "cpu", "mem" (MiB), "gpu" (of any type), "gpu:a100"

struct Node {
  bool takes_work = true;
  Things things;
};

struct AnyJob {
  std::uint32_t id = 0, priority = 0;
  std::string user, account, class_name;
  std::vector<std::string> partitions;
  Things things;
  double limit_s = 0, ran_s = 0;
  bool runs = false;
  bool competes = false;             // it waits for its turn, not for something of its own
  std::uint32_t count = 1;           // of an array: so many of these
  std::vector<std::uint32_t> nodes;  // of one that runs: places in Cluster::nodes
};

struct Cluster {
  std::vector<Node> nodes;
  std::map<std::string, std::vector<std::uint32_t>> partitions;  // their nodes
  std::vector<AnyJob> jobs;
};

// Whose jobs are counted by the limit that the job waits for.
enum class Counts : std::uint8_t { kNone, kUser, kAccount, kClass };
struct Bound {
  LimitUse use;  // "job", "cpu", "mem", "node", "gres/gpu", "gres/gpu:a100"
  Counts counts = Counts::kNone;
  bool of_class = true;  // and of those only the ones in the job's class
};

// Without `bound` the job waits for its turn only. Where more jobs go first than can be played, the line is cut there
// and replay() returns nothing.
Line line_of(const Cluster& cluster, const AnyJob& mine, const Bound& bound = {});

// What is free on nodes of these partitions.
Things free_of(const Cluster& cluster, const std::vector<std::string>& partitions);

}  // namespace pounce::forecast
