// The lines of a policy that become commands: the workers' interpreter, and what runs it. Pure. Thread: any.
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

// The words of a command line; quotes keep words together, nothing else of a shell is known. kBadRequest: a quote is open.
Result<std::vector<std::string>> command_words(std::string_view line);
// {home} and {user} filled in.
std::string filled_in(std::string text, const Who& who);
// What runs a worker: the user's own interpreter where they named one, else the policy's; in its container.
std::vector<std::string> worker_command(const Policy& policy, const std::vector<std::string>& interpreter, bool named,
                                        const Who& who);

}  // namespace pounce::policy
