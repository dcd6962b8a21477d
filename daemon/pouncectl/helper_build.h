// Building pounce-slurm of the sources that came with this pounce. Thread: main; blocks for a minute or two.
#pragma once

#include <string>

#include "pounce/result.h"
#include "pouncectl/slurm_site.h"

namespace pounce::ctl {

struct HelperBuild {
  std::string sources;   // has the script `build`
  std::string folder;    // slurm::helper_folder(): made here, with the program and its links
  std::string compiler;
  SlurmHeaders headers;
  SlurmLibrary library;
};

// Of this installation; empty: it has none.
std::string helper_sources();

// The first of the bases where this user may write; `own`: the user's own in any case.
Result<std::string> base_to_build_in(bool own);

// The folder changes only when all is built: a daemon that starts meanwhile finds the old program or the new one.
Result<void> build_helper(const HelperBuild& build);

}  // namespace pounce::ctl
