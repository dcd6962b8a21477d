// A new pounced: the journal says what its previous instance knew, the first reconciliation says what is true. Nothing is
// submitted before both. Owns nothing: it fills the leases and the sessions once, before any other rule acts, so the
// table of transitions does not hold here. Thread: loop.
#pragma once

#include "core/lease/rule_context.h"

namespace pounce::lease {

class Restart {
 public:
  explicit Restart(Context& context) : context_(context) {}

  void on(const JournalRead& event);

 private:
  void replay(const JournalRecord& line);
  void replay_intent(const JournalRecord& line);
  void await_owners();

  Context& context_;
};

}  // namespace pounce::lease
