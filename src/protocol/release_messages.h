// A person asks for leases back: what pouncectl says in the hall, and what it is answered. Thread: any (values).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pounce/ids.h"

namespace pounce::protocol {

// kWhenIdle: its tasks come first. kNow: they end with lease_ended. kCancel: they end with job_cancelled, and are not
// run again.
enum class ReleaseHow : std::uint8_t { kWhenIdle, kNow, kCancel };

struct ReleaseAsk {  // client or pouncectl -> daemon
  static constexpr char kType[] = "release_ask";
  std::uint32_t request = 0;
  std::vector<LeaseId> leases;
  ReleaseHow how = ReleaseHow::kWhenIdle;
  std::string by;  // who asks, for the reason that the tasks end with: "pouncectl release --now"
};
struct ReleaseRow {
  LeaseId lease;
  std::string state;                       // after it was asked; "ended" also for one that the daemon does not have
  std::uint32_t waiting = 0, running = 0;  // tasks that it still has to do
};
struct ReleaseIs {  // daemon -> asker: a row for each lease, in the order asked
  static constexpr char kType[] = "release_is";
  std::uint32_t request = 0;
  std::vector<ReleaseRow> rows;
};

}  // namespace pounce::protocol
