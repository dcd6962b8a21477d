// The interface to what can run workers: it answers each question of slurm/questions.h that is not an admin's. There
// are two backends: slurm (through pounce-slurm) and local (child processes), which answers as Slurm would. A call
// returns at once. Its answer comes as a callback on the loop thread, exactly once, also when the backend dies (then
// Error kOutcomeUnknown: the caller reconciles before it decides anything). Thread: loop.
#pragma once

#include <any>
#include <functional>
#include <string>
#include <utility>

#include "pounce/error.h"
#include "slurm/questions.h"

namespace pounce::launch {

class Launcher {
 public:
  template <class T>
  using Reply = std::function<void(Result<T>)>;

  virtual ~Launcher() = default;

  template <class Query>
  void ask(Query question, Reply<typename Query::Answer> reply) {
    send(std::move(question), slurm::any_for<Query>(std::move(reply)));
  }

  // The same for a question of any type. The answer holds that type's Answer.
  virtual void send(slurm::Question question, Reply<std::any> reply) = 0;

  // A GPU of that lease, by its name for CUDA, has failed. A backend that hands out GPUs itself no longer hands out
  // this one.
  virtual void leave_out(const LeaseId&, const std::string&) {}
};

}  // namespace pounce::launch
