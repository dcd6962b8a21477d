#include "pouncectl/class_cells.h"

#include <algorithm>
#include <string>

#include "pouncectl/lease_row.h"

namespace pounce::ctl {
namespace {

// "3 of 4 left"
std::string left(std::int64_t most, std::int64_t used) {
  if (most < 0) return used > 0 ? "no limit, " + std::to_string(used) + " in use" : "no limit";
  if (most == 0) return "none";
  return std::to_string(std::max<std::int64_t>(most - used, 0)) + " of " + std::to_string(most) + " left";
}

}  // namespace

std::vector<Cells> class_cells(const std::vector<ClassUse>& classes) {
  std::vector<Cells> cells = {{"CLASS", "TIME", "RUNNING JOBS", "JOBS", "GPUS", "GPUS OF ONE JOB"}};
  for (const ClassUse& one : classes)
    cells.push_back({one.name + (one.preset ? " (where none is named)" : ""),
                     one.time_min < 0 ? "no limit" : in_words(static_cast<double>(one.time_min) * 60),
                     left(one.jobs_most, one.jobs_used),
                     one.submits_most < 0 ? "" : left(one.submits_most, one.submits_used), left(one.gpus_most, one.gpus_used),
                     one.gpus_job < 0 ? "" : "at most " + std::to_string(one.gpus_job)});
  return cells;
}

std::vector<Cells> gpu_cells(const std::vector<GpuUse>& gpus) {
  std::vector<Cells> cells = {{"GPU", "FREE", "ALL"}};
  for (const GpuUse& one : gpus)
    cells.push_back({one.type.empty() ? "any" : one.type, std::to_string(one.free), std::to_string(one.total)});
  return cells;
}

}  // namespace pounce::ctl
