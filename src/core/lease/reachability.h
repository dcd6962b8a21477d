// Does Slurm answer? Owns the answer, since when, and why not. Nothing is submitted and no silent worker is given up
// while it does not. Thread: loop.
#pragma once

#include "core/lease/step.h"
#include "pounce/cause.h"

namespace pounce::lease {

class Reachability {
 public:
  explicit Reachability(Step& step) : step_(step) {}

  bool note(bool reached, const Cause& why);  // true: it is another answer than before
  bool lost() const { return lost_; }
  const Cause& why() const { return why_; }
  TimePoint back_since() const { return back_since_; }  // after it did not answer

 private:
  Step& step_;
  bool lost_ = false;
  Cause why_;
  TimePoint back_since_{};
};

}  // namespace pounce::lease
