// Which sessions are here: they open, are heard, close, or fall silent. A session that is gone gives its leases back.
// The sessions themselves are in Sessions, because every rule asks what they want. Thread: loop.
#pragma once

#include "core/lease/ending.h"
#include "core/lease/notices.h"
#include "core/lease/rule_context.h"
#include "core/lease/transitions.h"

namespace pounce::lease {

class Presence {
 public:
  Presence(Context& context, Notices& notices, Transitions& transitions, Ending& ending)
      : context_(context), notices_(notices), transitions_(transitions), ending_(ending) {}

  void on(const SessionOpened& event);
  void on(const SessionSeen& event);
  void on(const SessionClosed& event);
  void settle();  // the silent ones are gone

 private:
  void forget(const SessionId& session, CauseCode why);
  void dismiss(const Lease& lease, const SessionId& session, CauseCode why);
  Error end_for(const Lease* lease, const LeaseId& id, CauseCode why) const;
  void let_go_of_holds(const SessionId& session, CauseCode why);
  void dismiss_who_stayed_away(Lease& lease);

  Context& context_;
  Notices& notices_;
  Transitions& transitions_;
  Ending& ending_;
};

}  // namespace pounce::lease
