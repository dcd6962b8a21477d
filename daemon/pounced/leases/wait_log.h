// What was said of when a lease starts, and when it did: one JSON line for each statement, written when the lease starts, into
// `waits.jsonl` of the state folder (0600), which is begun anew at half a megabyte with the last one kept beside it. For
// `pouncectl eta-score`. A hint: what cannot be written is not. Thread: loop.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/lease/actions.h"
#include "pounce/eta.h"

namespace pounce::daemon {

class WaitLog {
 public:
  explicit WaitLog(std::string path) : path_(std::move(path)) {}

  void hear(const lease::Action& action, std::int64_t now_s);

 private:
  struct Said {
    std::int64_t stated_s = 0;
    Eta eta;
  };

  void state(const lease::TellStatus& status, std::int64_t now_s);
  void write(const LeaseId& lease, const lease::TellStatus& status, std::int64_t started_s);

  const std::string path_;
  std::map<LeaseId, std::vector<Said>> said_;
};

}  // namespace pounce::daemon
