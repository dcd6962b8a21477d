// What pounce-slurm says about Slurm, asked without a daemon. Blocking, with a deadline. Thread: main.
#pragma once

#include <any>
#include <utility>

#include "pounce/result.h"
#include "slurm/questions.h"

namespace pounce::ctl {

namespace detail {
Result<std::any> ask_slurm(slurm::Question question);
}

// Those of an admin as whoever runs this, root too: `pounce-slurm --admin`.
template <class Asked>
Result<typename Asked::Answer> ask_slurm(Asked question) {
  return detail::ask_slurm(std::move(question)).map([](std::any&& answer) {
    return std::any_cast<typename Asked::Answer>(std::move(answer));
  });
}

}  // namespace pounce::ctl
