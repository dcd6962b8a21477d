// A queued job's place among the jobs that compete with it, which Slurm does not store. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pounce::slurm {

struct InLine {
  std::uint32_t job = 0, priority = 0;  // 0: held, it competes with no job
  std::string partitions;               // "gpu" or "gpu,cpu"
};

// The number of jobs that Slurm considers first: in a partition that this job may use too, with a higher priority, or
// with the same priority and older.
std::int32_t jobs_ahead(const std::vector<InLine>& line, const InLine& mine);

}  // namespace pounce::slurm
