// What pounced needs of something that can run workers. Two backends: slurm (through pounce-slurm) and local
// (child processes). All calls return at once; answers come as callbacks on the loop thread, exactly once each, also
// when the backend dies (then Error kOutcomeUnknown: the caller sweeps before it decides anything). Thread: loop.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pounce/cluster.h"
#include "pounce/job.h"
#include "pounce/result.h"
#include "pounce/room.h"

namespace pounce::launch {

class Launcher {
 public:
  template <class T>
  using Reply = std::function<void(Result<T>)>;

  virtual ~Launcher() = default;
  virtual void facts(Reply<ClusterFacts> reply) = 0;
  virtual void submit(const JobSpec& spec, Reply<Incarnation> reply) = 0;
  virtual void cancel(const Incarnation& job, Reply<void> reply) = 0;  // no such job = success
  // What accounting is to keep of the job, as its comment; a backend without accounting keeps nothing.
  virtual void note(const Incarnation&, const std::string&, Reply<void> reply) { reply({}); }
  virtual void poll(const std::vector<Incarnation>& jobs, Reply<std::vector<JobView>> reply) = 0;  // one RPC
  virtual void sweep(const InstanceId& instance,
                     Reply<std::vector<JobView>> reply) = 0;  // all with that tag, ended too
  // Who waits for room, and what these jobs hold. One RPC, a second one where somebody waits.
  virtual void look(const std::vector<Incarnation>& ours, Reply<QueueLook> reply) = 0;
  virtual void classes(Reply<ClassReport> reply) = 0;  // what this user may use now; empty where there are none
  // What could run where; `not_nodes` as Slurm lists nodes. Empty where there are no nodes to choose from.
  virtual void survey(const std::string& not_nodes, Reply<Survey> reply) = 0;
  virtual void queue(Reply<std::vector<JobView>> reply) = 0;  // every job of ours by tag, any instance, of this user
};

}  // namespace pounce::launch
