// The mark of ours that a Slurm job carries in `comment`: "pounce:1:<instance>:<lease>". It is public
// by nature (any user can read comments), so it proves nothing and opens nothing. When its work is over, pounced adds
// what became of the time: "pounce:1:<instance>:<lease> busy=812s idle=61s", for whoever reads the accounting. Of one that a notebook
// holds it says " held" behind the tag as soon as that begins: a hold often ends with its job's time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "pounce/ids.h"

namespace pounce {

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
// Busy time over all time, 0 to 1, where the comment tells of it. Whoever owns the job can write anything there: what tells
// of more time than the job ran (a minute of rounding aside) is not believed.
std::optional<double> busy_part(std::string_view comment, std::chrono::seconds ran);

}  // namespace pounce
