// A user releases leases: pouncectl's messages on the control channel, and their answers. Thread: any (values).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pounce/fields.h"
#include "pounce/ids.h"
#include "protocol/about.h"

namespace pounce::protocol {

// kWhenIdle: after its tasks. kNow: its tasks end with lease_ended. kCancel: its tasks end with job_cancelled and are
// not run again.
enum class ReleaseHow : std::uint8_t { kWhenIdle, kNow, kCancel };
constexpr auto words(ReleaseHow) { return words_of<ReleaseHow>({"when_idle", "now", "cancel"}); }

struct ReleaseAsk {
  static constexpr char kType[] = "release_ask";
  static constexpr About kAbout{"K, P → D", "",
                               "gives leases back. `how`: `when_idle` (their tasks come first), `now` (their tasks "
                               "end with `lease_ended`), `cancel` (with `job_cancelled`: not run again). `by` is in "
                               "the reason that they end with"};
  std::uint32_t question = 0;
  std::vector<LeaseId> leases;
  ReleaseHow how = ReleaseHow::kWhenIdle;
  std::string by;

  static constexpr auto fields() {
    return table(field("question", &ReleaseAsk::question),
                 field("leases", &ReleaseAsk::leases),
                 field("how", &ReleaseAsk::how),
                 field("by", &ReleaseAsk::by));
  }
};
struct ReleaseRow {
  LeaseId lease;
  std::string state;
  std::uint32_t waiting = 0, running = 0;

  static constexpr auto fields() {
    return table(field("lease", &ReleaseRow::lease),
                 field("state", &ReleaseRow::state, "after it was asked; `ended` also for one that is not known"),
                 field("waiting", &ReleaseRow::waiting, "tasks that it still has to do"),
                 field("running", &ReleaseRow::running));
  }
};
struct ReleaseIs {
  static constexpr char kType[] = "release_is";
  static constexpr About kAbout{"D → K, P", "", "what became of each, in the order asked"};
  std::uint32_t question = 0;
  std::vector<ReleaseRow> rows;

  static constexpr auto fields() {
    return table(field("question", &ReleaseIs::question),
                 field("rows", &ReleaseIs::rows));
  }
};

}  // namespace pounce::protocol
