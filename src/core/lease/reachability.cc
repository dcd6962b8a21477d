#include "core/lease/reachability.h"

namespace pounce::lease {

bool Reachability::note(bool reached, const Cause& why) {
  if (reached != lost_) return false;
  lost_ = !reached;
  if (reached) back_since_ = step_.now();
  why_ = why;
  step_.change();
  return true;
}

}  // namespace pounce::lease
