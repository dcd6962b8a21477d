// Supervisors and their interpreters: who may speak for a lease, which interpreter is up, how often one may die. Owns the
// lease's workers. A worker's word about its own job is newer than Slurm's; it is believed only for the job identity that
// is known, and epochs only grow. Thread: loop.
#pragma once

#include "core/lease/ending.h"
#include "core/lease/job_news.h"
#include "core/lease/notices.h"
#include "core/lease/requests.h"
#include "core/lease/rule_context.h"
#include "core/lease/transitions.h"

namespace pounce::lease {

class Workers {
 public:
  Workers(Context& context, Notices& notices, Transitions& transitions, Requests& requests, Ending& ending, JobNews& jobs)
      : context_(context), notices_(notices), transitions_(transitions), requests_(requests), ending_(ending), jobs_(jobs) {}

  void on(const WorkerConnected& event);
  void on(const InterpreterStarted& event);
  void on(const InterpreterDied& event);
  void on(const WorkerSeen& event);
  void on(const WorkerLost& event);

 private:
  struct Heard {
    Lease* lease = nullptr;  // null: ignored
    Worker* worker = nullptr;
  };
  Heard hear(const LeaseId& lease, WorkerIndex index, WorkerLink link, News news);
  void heard(Lease& lease, Worker& worker);
  bool right_job(Lease& lease, const WorkerConnected& event);
  static bool replaced(const Lease& lease, const WorkerConnected& event);
  void take_place(const Lease& lease, Worker& worker, const PublicKey& supervisor);
  void link(Lease& lease, const WorkerConnected& event);
  void send_away(const WorkerConnected& event, CauseCode why);
  bool gone(const Worker& worker, Epoch epoch);
  void died(Lease& lease, Worker& worker, const InterpreterDied& event);
  void spent(Lease& lease, Worker& worker, const Error& error);
  void forget_tasks_of_the_gone(Lease& lease);
  void note_state(Lease& lease, Worker& worker, NamespaceState state);
  void warned(Lease& lease, std::uint32_t warnings);

  Context& context_;
  Notices& notices_;
  Transitions& transitions_;
  Requests& requests_;
  Ending& ending_;
  JobNews& jobs_;
};

}  // namespace pounce::lease
