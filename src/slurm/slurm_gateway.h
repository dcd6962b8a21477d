// The pipe to pounce-slurm, the only program that links libslurm. It may die at any moment (libslurm ends its host
// process: gotchas S1); then the request in its hands is answered with what libslurm printed, a submit or cancel as
// kOutcomeUnknown, anything else as kSlurmUnreachable, and the next request starts another helper, after a pause when
// they die in a row. Each request has a deadline; past it the helper is killed and replaced. Answers come as callbacks
// from on_readable() and on_time(), never from the call that asks, exactly once each; a gateway that is destroyed
// answers nothing more. Owns no loop: the owner polls fd() and calls on_time() at next_deadline(). Thread: loop.
#pragma once

#include <any>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "pounce/result.h"
#include "slurm/questions.h"

namespace pounce::slurm {

struct GatewayOptions {
  std::string program;  // path of pounce-slurm
  std::chrono::milliseconds request_deadline{
      30000};                                      // from when the helper gets it; libslurm itself may take 10 s twice
  std::map<std::string, std::string> environment;  // SLURM_CONF and little else: no outer SLURM_* job variables
  bool admin = false;  // `pounce-slurm --admin`: the questions of kAdmin and nothing else, root too
};

class SlurmGateway {
 public:
  template <class T>
  using Reply = std::function<void(Result<T>)>;

  explicit SlurmGateway(GatewayOptions options);
  ~SlurmGateway();
  SlurmGateway(const SlurmGateway&) = delete;
  SlurmGateway& operator=(const SlurmGateway&) = delete;

  // Any question of slurm/questions.h.
  template <class Asked>
  void ask(Asked question, Reply<typename Asked::Answer> reply) {
    send(std::move(question), any_for<Asked>(std::move(reply)));
  }

  // The same, where the question is one of several: an Asked::Answer comes.
  void send(Question question, Reply<std::any> reply);

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
