// The cluster as tables: classes, GPUs, nodes, the jobs that hold and wait for them. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/worker_report.h"
#include "pouncectl/output.h"

namespace pounce::ctl {

// The classes and the GPUs of the cluster.
std::vector<Cells> class_cells(const std::vector<ClassUse>& classes);
std::vector<Cells> gpu_cells(const std::vector<GpuUse>& gpus);

// This daemon's nodes, with what their drivers report, and Slurm's other nodes.

// A node of the document, of Slurm, or of both.
struct Node : model::NodeRow {
  bool in_slurm = false;
  NodeUse slurm{};
};

std::vector<Node> nodes_of(const std::vector<model::NodeRow>& leased, const std::vector<NodeUse>& slurms);  // by name
std::string health_of(const Node& node);  // "ok", "GPU-1 failed", "avoided", "takes no work"; empty: unknown
std::vector<Cells> node_cells(const std::vector<Node>& nodes, std::int64_t now_s);
std::vector<Cells> device_cells(const std::vector<Node>& nodes);  // one row per GPU

// Who holds what: jobs that hold GPUs first, then the others; the jobs that wait, by class.

// The state of each own lease by job: "idle", "busy".
using LeaseStates = std::map<std::uint32_t, std::string>;

struct ClassQueue {
  std::string class_name;
  std::uint32_t jobs = 0, gpus = 0;              // waiting jobs, and the GPUs that they request
  std::uint32_t leases = 0;                      // of them those that say that they are pounce's
  std::int64_t oldest_s = 0;                     // unix: the submit time of the longest waiting job
  std::map<std::string, std::uint32_t> reasons;  // Slurm's words
};

// True: the job only claims to be a lease of pounce. Its user can write the comment that says so; for own leases this
// machine's daemon knows it.
bool is_said(const AllocatedJob& job, const LeaseStates& states);

std::vector<AllocatedJob> by_weight(std::vector<AllocatedJob> jobs);  // running jobs: most GPUs first, then the longest
std::vector<ClassQueue> queues_of(const std::vector<AllocatedJob>& jobs);
std::string gpus_in_words(const std::map<std::string, std::uint32_t>& gpus);  // "2 a100, 1 a100_3g.20gb"

std::vector<Cells> held_cells(const std::vector<AllocatedJob>& jobs, const LeaseStates& states, std::int64_t now_s);
std::vector<Cells> queue_cells(const std::vector<ClassQueue>& queues, std::int64_t now_s);

}  // namespace pounce::ctl
