// What the batch system reports about a waiting job, as in every message and document. Values. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "pounce/eta.h"
#include "pounce/fields.h"
#include "pounce/job.h"

namespace pounce::model {

struct QueueWait {
  std::string slurm_reason;
  std::int32_t ahead = -1;
  std::int64_t start_estimate_s = 0;
  LimitUse limit;
  Eta eta{};
  bool operator==(const QueueWait&) const = default;

  static constexpr auto fields() {
    return table(field("slurm_reason", &QueueWait::slurm_reason, "Slurm's own words for the wait"),
                 field("ahead", &QueueWait::ahead, "queued jobs that go first; -1: not known"),
                 field("start_estimate_s", &QueueWait::start_estimate_s, "when Slurm expects it to start; 0: not known"),
                 field("limit", &QueueWait::limit, "that it waits for").only_if_set(),
                 field("eta", &QueueWait::eta, "when pounce expects it to start").only_if_set());
  }
};

}  // namespace pounce::model
