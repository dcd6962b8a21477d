// Leases that go back before their idle time is over: somebody else waits for what one holds, or a user asks for it
// back. Asked for when idle: its tasks come first. Asked for now, an order: whatever waits for it or runs on it ends with
// the reason given, and nothing new is asked for in its place. Owns the lease's mark release_asked. Thread: loop.
#pragma once

#include "core/lease/ending.h"
#include "core/lease/idle_reuse.h"
#include "core/lease/requests.h"
#include "core/lease/rule_context.h"
#include "core/lease/transitions.h"

namespace pounce::lease {

class Release {
 public:
  Release(Context& context, IdleReuse& idle, Transitions& transitions, Requests& requests, Ending& ending)
      : context_(context), idle_(idle), transitions_(transitions), requests_(requests), ending_(ending) {}

  void on(const QueueSnapshotTaken& event);
  void on(const ReleaseAsked& event);

 private:
  void release_now(Lease& lease, const Error& why);

  Context& context_;
  IdleReuse& idle_;
  Transitions& transitions_;
  Requests& requests_;
  Ending& ending_;
};

}  // namespace pounce::lease
