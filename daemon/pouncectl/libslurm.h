// Queries Slurm by pounce-slurm, without a daemon. Blocking, with a deadline. Thread: main.
#pragma once

#include <any>
#include <utility>

#include "pounce/result.h"
#include "slurm/questions.h"

namespace pounce::ctl {

namespace detail {
Result<std::any> ask_slurm(slurm::Question question);
}

// An admin's queries go to `pounce-slurm --admin`, which runs as the caller, even as root.
template <class Query>
Result<typename Query::Answer> ask_slurm(Query question) {
  return detail::ask_slurm(std::move(question)).map([](std::any&& answer) {
    return std::any_cast<typename Query::Answer>(std::move(answer));
  });
}

}  // namespace pounce::ctl
