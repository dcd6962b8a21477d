// The pipe to pounce-slurm, the only program that links libslurm. It may die at any moment (libslurm ends its host
// process: gotchas S1); then the request in its hands is answered with what libslurm printed, a submit or cancel as
// kOutcomeUnknown, anything else as kSlurmUnreachable, and the next request starts another helper, after a pause when
// they die in a row. Each request has a deadline; past it the helper is killed and replaced. Answers come as callbacks
// from on_readable() and on_time(), never from the call that asks, exactly once each; a gateway that is destroyed
// answers nothing more. Owns no loop: the owner polls fd() and calls on_time() at next_deadline(). Thread: loop.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "pounce/cluster.h"
#include "pounce/job.h"
#include "pounce/qos.h"
#include "pounce/result.h"
#include "pounce/room.h"
#include "pounce/usage.h"

namespace pounce::slurm {

struct GatewayOptions {
  std::string program;  // path of pounce-slurm
  std::chrono::milliseconds request_deadline{
      30000};                                      // from when the helper gets it; libslurm itself may take 10 s twice
  std::map<std::string, std::string> environment;  // SLURM_CONF and little else: no outer SLURM_* job variables
  bool admin = false;  // `pounce-slurm --admin`: read_qos, write_qos, holdings, usage and nothing else, root too
};

class SlurmGateway {
 public:
  template <class T>
  using Reply = std::function<void(Result<T>)>;

  explicit SlurmGateway(GatewayOptions options);
  ~SlurmGateway();
  SlurmGateway(const SlurmGateway&) = delete;
  SlurmGateway& operator=(const SlurmGateway&) = delete;

  void facts(Reply<ClusterFacts> reply);
  void submit(const JobSpec& spec, Reply<Incarnation> reply);
  void cancel(const Incarnation& job, Reply<void> reply);
  void note(const Incarnation& job, const std::string& comment, Reply<void> reply);  // the job's comment from now on
  void poll(const std::vector<Incarnation>& jobs, Reply<std::vector<JobView>> reply);
  void sweep(const InstanceId& instance, Reply<std::vector<JobView>> reply);
  void queue(Reply<std::vector<JobView>> reply);
  void read_qos(Reply<QosFacts> reply);
  // Makes those that are not there and changes those that are; answers what there is afterwards.
  void write_qos(const std::vector<Qos>& qos, Reply<QosFacts> reply);
  void holdings(Reply<Holdings> reply);                          // everybody's jobs that wait or run
  void usage(std::int64_t from_s, Reply<UsageFacts> reply);      // what was held since then, from slurmdbd
  void look(const std::vector<Incarnation>& ours, Reply<QueueLook> reply);
  void classes(Reply<ClassReport> reply);
  void survey(const std::string& not_nodes, Reply<Survey> reply);
  void version(Reply<std::string> reply);  // the libslurm loaded: "libslurm.so.38 (22.05.8)"

  // The descriptor changes when the helper is replaced: ask again after each call into this class, its callbacks
  // included. -1: none running.
  int fd() const;
  void on_readable();
  void on_time(TimePoint now);
  TimePoint next_deadline() const;  // TimePoint::max(): nothing waits
  int helper_pid() const;           // 0: none running

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pounce::slurm
