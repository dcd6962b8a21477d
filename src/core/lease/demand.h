// What sessions want, and which lease serves it. A want has at most one lease; the demand is the whole truth each time. A
// lease that nobody claims (after a restart of pounced) goes to whoever holds it, else to whoever could use it; where
// there is none a new one is wanted. Owns the ids of new leases, and the lease's owner while there is demand. Thread: loop.
#pragma once

#include <functional>

#include "core/lease/ending.h"
#include "core/lease/notices.h"
#include "core/lease/rule_context.h"
#include "core/lease/transitions.h"

namespace pounce::lease {

class Demand {
 public:
  Demand(Context& context, Notices& notices, Transitions& transitions, Ending& ending, std::function<LeaseId()> fresh_lease)
      : context_(context), notices_(notices), transitions_(transitions), ending_(ending), fresh_lease_(std::move(fresh_lease)) {}

  void on(const DemandChanged& event);
  void answer_all_holds();  // after the first reconciliation: before it nobody could be told of an end
  void offer_spares();  // after an adoption: requests that came before it may be served by it
  void settle();        // a new lease for each request that waits and has none

 private:
  void take(const SessionId& session, RequestState& record, const Request& request);
  void answer_holds(const Owner& owner, const Request& request);
  Lease* serving(const Owner& owner, const Request& request);
  Lease* take_over(const Owner& owner, const Request& request, Lease* wanted);
  Lease* held_by(const Request& request);
  Lease* spare_for(const Resources& resources);
  void news(Lease& lease, bool demanded);
  void request_lease(const Owner& owner, const Resources& resources);

  Context& context_;
  Notices& notices_;
  Transitions& transitions_;
  Ending& ending_;
  const std::function<LeaseId()> fresh_lease_;
};

}  // namespace pounce::lease
