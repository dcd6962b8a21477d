// Records each predicted start of a lease beside the real one, for `pouncectl eta-score`. When the lease starts, one
// JSON line for each prediction is written into the state folder's `waits.jsonl` (0600). At half a megabyte a new
// file begins, and the last one is kept beside it. The record is a hint: a failed write is only logged. Thread: loop.
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
  struct Prediction {
    std::int64_t stated_s = 0;
    Eta eta;
  };

  void state(const lease::TellStatus& status, std::int64_t now_s);
  void write(const LeaseId& lease, const lease::TellStatus& status, std::int64_t started_s);

  const std::string path_;
  std::map<LeaseId, std::vector<Prediction>> predictions_;
};

}  // namespace pounce::daemon
