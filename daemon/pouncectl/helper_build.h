// Builds pounce-slurm from the sources of this installation. Thread: main; blocks for a minute or two.
#pragma once

#include <string>

#include "pounce/result.h"
#include "pouncectl/slurm_site.h"

namespace pounce::ctl {

struct HelperBuild {
  std::string sources;   // contains the script `build`
  std::string folder;    // slurm::helper_folder(); created with the program and its links
  std::string compiler;
  SlurmHeaders headers;
  SlurmLibrary library;
};

// The sources' folder of this installation; empty: it has none.
std::string helper_sources();

// The first base that this user may write; with `own` always the user's own.
Result<std::string> base_to_build_in(bool own);

// Replaces the folder only after the build: a daemon that starts meanwhile finds the old program or the new one.
Result<void> build_helper(const HelperBuild& build);

}  // namespace pounce::ctl
