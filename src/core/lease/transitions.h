// The only way from one state to another. Owns the table's answer to the news at hand, and the first transition against
// the table: that one is a bug, and breaks an invariant. Thread: loop.
#pragma once

#include <string>

#include "core/lease/notices.h"
#include "core/lease/transition_table.h"

namespace pounce::lease {

class Transitions {
 public:
  Transitions(Context& context, Notices& notices) : context_(context), notices_(notices) {}

  bool accept(Lease& lease, News news);  // false: the table ignores it
  void enter(Lease& lease, LeaseState state, const Cause& why);  // its owner is told
  void enter(Lease& lease, LeaseState state, CauseCode why) { enter(lease, state, Cause{why}); }
  void refresh(Lease& lease);  // idle or busy, by what is known now
  const std::string& breach() const { return breach_; }

 private:
  Context& context_;
  Notices& notices_;
  const Cell* cell_ = nullptr;
  LeaseId cell_lease_;
  std::string breach_;
};

}  // namespace pounce::lease
