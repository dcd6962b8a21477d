// The site's policy file, as far as pounced acts on it, and what Slurm tells of the site before there is a loop.
// Thread: loop; main for the question to pounce-slurm.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>

#include "core/lease/defaults.h"
#include "model/cluster.h"
#include "model/job.h"
#include "policy/policy.h"
#include "pounce/error.h"
#include "pounced/startup/config.h"
#include "slurm/slurm_gateway.h"

namespace pounce::daemon {

// One blocking question to pounce-slurm, for the moments before there is a loop.

// The helper gets SLURM_CONF and SLURM_CONF_SERVER, and no other variable of Slurm's.
slurm::GatewayOptions gateway_options(const Config& config);

Result<ClusterFacts> ask_facts(const Config& config);

// Looked at before each decision that it rules, and read anew where it has changed: neither daemon nor notebook is
// started again for it. A file that cannot be used leaves what was known before; the trouble is in the log, in the
// status and in the doctor's report. Its prologue is run by a shell: a file that others than root and this user could
// have written (base/trusted_path.h) is not used.
inline constexpr char kSitePolicy[] = "/etc/pounce/policy.json";

// The path of the policy file under this configuration; empty: there is none.
std::string policy_path(const Config& config);

class SitePolicy {
 public:
  // configured: as Config::policy.
  explicit SitePolicy(const std::string& configured, std::string usual = kSitePolicy);

  void look();
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

  const policy::Policy& now() const { return policy_; }
  const std::string& path() const { return path_; }        // empty: no policy
  const std::string& trouble() const { return trouble_; }  // why the current file is not used; empty: it is used

 private:
  // inode, size, seconds, nanoseconds
  using Stamp = std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;
  static std::optional<Stamp> stamp_of(const std::string& path);
  void read(const std::string& path);

  const std::string configured_, usual_;
  std::string path_, trouble_;
  bool distrusted_ = false;  // because of its folders or owner; a repair of those does not change its stamp
  std::optional<Stamp> stamp_;
  policy::Policy policy_;
  std::function<void()> changed_ = [] {};
};

// The times in force: the site's where its policy sets them, and the user's own where they release earlier, start
// less or keep less.
lease::Defaults times_under(const policy::Policy& policy, const Config& config);
// The class of a job as users know it: the policy's class for its QoS, or the QoS itself where the policy has none. A
// job without a QoS is classed by its name.
std::string class_of(const policy::Policy& policy, const JobView& job);
std::string class_of_qos(const policy::Policy& policy, const std::string& qos);
// Rewrites Slurm's report in the policy's terms: classes in place of QoS, the fallback of each class, and the default
// class.
void in_words_of(const policy::Policy& policy, ClassReport& report);

// Whether enough nodes of the class's partition have room for the request now.
bool has_room(const policy::Policy& policy, const ClusterSnapshot& cluster_snapshot, const Resources& asks);

}  // namespace pounce::daemon
