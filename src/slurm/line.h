// A queued job's place among those that compete with it: Slurm does not store it. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pounce::slurm {

struct InLine {
  std::uint32_t job = 0, priority = 0;  // 0: held, it competes with nobody
  std::string partitions;               // "gpu" or "gpu,cpu"
};

// Those that Slurm looks at first: of a partition that the job may use too, of higher priority, or as high and older.
std::int32_t jobs_ahead(const std::vector<InLine>& line, const InLine& mine);

}  // namespace pounce::slurm
