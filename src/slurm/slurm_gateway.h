// The pipe to pounce-slurm, the only program that links libslurm. The helper may die at any moment (libslurm ends its
// host process: gotchas S1). Then the request under way is answered with what libslurm printed: a mutation as
// kOutcomeUnknown, any other as kSlurmUnreachable. The next request starts another helper, after a pause when helpers
// die in a row. Each request has a deadline; after it the helper is killed and replaced. Answers come as callbacks
// from on_readable() and on_time(), never from the call that asks, exactly once each. A destroyed gateway answers
// nothing more. Owns no loop: the owner polls fd() and calls on_time() at next_deadline(). Thread: loop.
#pragma once

#include <any>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "pounce/error.h"
#include "slurm/questions.h"

namespace pounce::slurm {

struct GatewayOptions {
  std::string program;                       // path of pounce-slurm
  std::chrono::milliseconds request_deadline{// From when the helper gets the request; libslurm may take 10 s twice.
                                             30000};
  std::map<std::string, std::string> environment;  // SLURM_CONF and little else: no outer SLURM_* job variables
  bool admin = false;                              // `pounce-slurm --admin`: only the questions of kAdmin, also as root
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
  template <class QuestionType>
  void ask(QuestionType question, Reply<typename QuestionType::Answer> reply) {
    send(std::move(question), any_for<QuestionType>(std::move(reply)));
  }

  // The same for a question of any type; the answer is of that type's Answer.
  void send(Question question, Reply<std::any> reply);

  // The descriptor changes when the helper is replaced: read it again after each call into this class and after its
  // callbacks. -1: no helper runs.
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
