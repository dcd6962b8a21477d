// What Slurm last said of a queued job's wait: its word, the limit with its numbers, the place in line. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "pounce/job.h"

namespace pounce::lease {

struct Waiting {
  std::string word;        // Slurm's: "QOSMaxJobsPerUserLimit"
  std::string sentence;    // what Slurm adds, "ReqNodeNotAvail, UnavailableNodes:g1"; the word where it adds nothing
  std::string class_name;  // of the job
  LimitUse limit;
  std::int32_t ahead = -1;  // jobs that go first; -1: not known
  Eta eta{};
  bool operator==(const Waiting&) const = default;
};

Waiting waiting_of(const JobView& view);

}  // namespace pounce::lease
