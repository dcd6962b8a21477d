// What stands in the way of a request: a refusal, a wait before the next try, too many bad starts. Its data is the
// session's (RequestState), which knows it for as long as the request lives. Thread: loop.
#pragma once

#include "core/lease/rule_context.h"

namespace pounce::lease {

class Requests {
 public:
  explicit Requests(Context& context) : context_(context) {}

  void fail(const Owner& owner, RequestState& record, const Error& error);  // until its demand changes
  void hold_off(RequestState& record, const Error& error);                      // longer each time
  void no_replacement(RequestState& record, CauseCode why);  // somebody ended its lease on purpose; until new calls come
  void fail(const Lease& lease, const Error& error);  // the one that it serves
  // A lease that never got an interpreter up says something about the request or the site: not for ever again.
  void count_bad_start(const Lease& lease, const Error& why, bool give_up = false);

 private:
  Context& context_;
};

}  // namespace pounce::lease
