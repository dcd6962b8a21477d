// The policy's command templates: the workers' interpreter and its container. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"
#include "pounce/result.h"

namespace pounce::policy {

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

}  // namespace pounce::policy
