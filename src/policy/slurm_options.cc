#include "policy/slurm_options.h"

#include <algorithm>

#include "base/join.h"
#include "policy/policy_keys.h"

namespace pounce::policy {

const std::vector<std::string>& slurm_options_there_are() {
  static const std::vector<std::string> all = {"constraint", "exclude",   "exclusive", "licenses", "mail-type",
                                               "mail-user",  "nice",      "nodelist",  "prefer",   "reservation",
                                               "switches",   "tmp",       "wckey"};
  return all;
}

Result<void> check_slurm_options(const Policy& policy, const std::map<std::string, std::string>& options) {
  const std::string allowed = joined(policy.slurm_options);
  for (const auto& [name, value] : options) {
    if (std::ranges::find(policy.slurm_options, name) != policy.slurm_options.end()) continue;
    const auto& all = slurm_options_there_are();
    const bool known = std::ranges::find(all, name) != all.end();
    const std::string near = nearest(name, all);
    return failure(ErrorCode::kBadRequest,
                   known ? "this site does not let people pass on Slurm's --" + name
                         : "pounce passes no --" + name + " on to Slurm; the nearest that it knows is --" + near,
                   allowed.empty() ? "Leave it out: this site passes none on (slurm_options in its policy)."
                                   : "Leave it out; this site passes on: " + allowed + ".");
  }
  return {};
}

}  // namespace pounce::policy
