// When the daemon may end: without leases and sessions for a while. Owns since when, and whether it was told. Thread: loop.
#pragma once

#include <optional>

#include "core/lease/rule_context.h"

namespace pounce::lease {

class DaemonLife {
 public:
  explicit DaemonLife(Context& context) : context_(context) {}

  void settle();

 private:
  Context& context_;
  std::optional<TimePoint> idle_since_;
  bool asked_to_exit_ = false;
};

}  // namespace pounce::lease
