// pounce's tag in a Slurm job's `comment`: "pounce:1:<instance>:<lease>". It is public by nature (any user can read
// comments), so it proves nothing and opens nothing. When the job's work is over, pounced adds how the time was used,
// for readers of the accounting: "pounce:1:<instance>:<lease> busy=812s idle=61s". When a notebook begins to hold the
// job, pounced adds " held" behind the tag at once, because a hold often ends with its job's time.
// Pure. Thread: any.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "model/ids.h"

namespace pounce::job {

struct JobTag {
  InstanceId instance;
  LeaseId lease;
  bool operator==(const JobTag&) const = default;
};

std::string format_job_tag(const JobTag& tag);
std::optional<JobTag> parse_job_tag(std::string_view comment);
std::string format_hold_note(const JobTag& tag);
std::string format_job_note(const JobTag& tag, bool held, std::chrono::seconds busy, std::chrono::seconds idle);
bool tells_hold(std::string_view comment);
// The times that the comment tells. The job's owner can write anything there: a comment that tells of more time than
// the job ran (within a minute of rounding), or of none, is ignored.
struct NotedTimes {
  std::chrono::seconds busy{0}, idle{0};
};
std::optional<NotedTimes> noted_times(std::string_view comment, std::chrono::seconds ran);

}  // namespace pounce::job
