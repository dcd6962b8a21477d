// The way out: draining (the worker was told), ending (Slurm was told, until it shows no job), ended. Owns nothing beside
// the lease's own fields of its end: why, who may still refuse, when the cancel is repeated. The owner hears of it once,
// as early as its tasks cannot be served any more. Thread: loop.
#pragma once

#include <string>

#include "core/lease/rule_context.h"
#include "core/lease/transitions.h"

namespace pounce::lease {

class Ending {
 public:
  Ending(Context& context, Transitions& transitions) : context_(context), transitions_(transitions) {}

  // Whatever its state is. only_if_idle: a worker that has just got a task stays.
  void give_back(Lease& lease, Error why, bool only_if_idle = false);
  void cancel(Lease& lease);   // lease.end says why
  void give_up(Lease& lease);  // its worker is silent
  void finish(Lease& lease, Error why);  // no job is left
  void detach(Lease& lease, const Error& why);
  void send_away(const Lease& lease, const Cause& why, bool only_if_idle);  // its workers
  void cancel_excess(const JobIdentity& job, const std::string& what);            // a job that no lease has

  void on(const CancelDone& event);
  void settle(Lease& lease);  // a draining or ending one

 private:
  void tell_end(const Lease& lease, const Owner& to, const Error& why);
  void drain(Lease& lease, bool only_if_idle);
  void end_job(Lease& lease);
  void send_cancel(Lease& lease);
  void leave_no_longer(Lease& lease);
  TimePoint patience_until(const Lease& lease) const;  // of a draining one

  Context& context_;
  Transitions& transitions_;
};

}  // namespace pounce::lease
