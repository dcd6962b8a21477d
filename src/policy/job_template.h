// What of a policy goes into a job: the workers' command line, and the options of sbatch that a user may pass on. Pure.
// Thread: any.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"
#include "pounce/error.h"

namespace pounce::policy {

// The lines of a policy that become commands: the workers' interpreter, and what runs it.
struct Who {
  std::string home, user;
};

// The words of a command line; quotes keep words together, and no other shell syntax is known. kBadRequest: an open
// quote.
Result<std::vector<std::string>> command_words(std::string_view line);
// Replaces {home} and {user}.
std::string filled_in(std::string text, const Who& who);
// The command that runs a worker: the user's interpreter if named, else the policy's, in the policy's container.
std::vector<std::string> worker_command(const Policy& policy, const std::vector<std::string>& interpreter, bool named,
                                        const Who& who);

// Options of sbatch that a user may pass on, where the policy says so.

// All options that a policy may allow: none that pounce itself sets or needs.
const std::vector<std::string>& slurm_options_there_are();
// kBadRequest names the refused option and the allowed ones.
Result<void> check_slurm_options(const Policy& policy, const std::map<std::string, std::string>& options);

}  // namespace pounce::policy
