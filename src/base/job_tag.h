// The mark of ours that a Slurm job carries in `comment`: "pounce:1:<instance>:<lease>" (design §3). It is public
// by nature (any user can read comments), so it proves nothing and opens nothing.
#pragma once

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

}  // namespace pounce
