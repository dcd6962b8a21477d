// From a request to a job: the intent is on disk before the submission. Owns the rate of starts, and decides when a lease
// is submitted. Whatever is not a clear yes or no is a doubt, and only a reconciliation resolves a doubt. One lease id is
// submitted once; a new try is a new lease. Thread: loop.
#pragma once

#include "core/lease/ending.h"
#include "core/lease/notices.h"
#include "core/lease/requests.h"
#include "core/lease/rule_context.h"
#include "core/lease/start_rate.h"
#include "core/lease/transitions.h"

namespace pounce::lease {

class Submission {
 public:
  Submission(Context& context, Notices& notices, Transitions& transitions, Requests& requests, Ending& ending)
      : context_(context), notices_(notices), transitions_(transitions), requests_(requests), ending_(ending) {}

  void on(const Submitted& event);
  void on(const SubmitFailed& event);
  void settle(Lease& lease);  // a wanted one

 private:
  void submit(Lease& lease);
  void submit_unclear(Lease& lease, const Error& error);
  std::size_t before_in_line(const Lease& lease) const;
  void wait_for_start(Lease& lease, TimePoint start);
  Lease* under_way(const LeaseId& id);

  Context& context_;
  Notices& notices_;
  Transitions& transitions_;
  Requests& requests_;
  Ending& ending_;
  StartRate rate_;
};

}  // namespace pounce::lease
