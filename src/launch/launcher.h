// What pounced needs of something that can run workers: an answer to each question of slurm/questions.h that is not an
// admin's. Two backends: slurm (through pounce-slurm) and local (child processes), which answers as Slurm would. A call
// returns at once; its answer comes as a callback on the loop thread, exactly once, also when the backend dies (then Error
// kOutcomeUnknown: the caller reconciles before it decides anything). Thread: loop.
#pragma once

#include <any>
#include <functional>
#include <string>
#include <utility>

#include "pounce/result.h"
#include "slurm/questions.h"

namespace pounce::launch {

class Launcher {
 public:
  template <class T>
  using Reply = std::function<void(Result<T>)>;

  virtual ~Launcher() = default;

  template <class Asked>
  void ask(Asked question, Reply<typename Asked::Answer> reply) {
    send(std::move(question), slurm::any_for<Asked>(std::move(reply)));
  }

  // The same, where the question is one of several: an Asked::Answer comes.
  virtual void send(slurm::Question question, Reply<std::any> reply) = 0;

  // A GPU of that lease, by its name for CUDA, has failed. Whoever hands out GPUs itself gives it to nobody any more.
  virtual void leave_out(const LeaseId&, const std::string&) {}
};

}  // namespace pounce::launch
