// The site's policy file, as far as pounced acts on it. Looked at before each decision that it rules, and read anew where
// it has changed: neither daemon nor notebook is started again for it. A file that cannot be used leaves what was known
// before; the trouble is in the log, in the status and in the doctor's report. Its prologue is run by a shell: a file that others
// than root and this user could have written (base/trusted_path.h) is not used. Thread: loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>

#include "core/lease/defaults.h"
#include "policy/policy.h"
#include "pounce/cluster.h"
#include "pounce/job.h"
#include "pounced/startup/config.h"

namespace pounce::daemon {

inline constexpr char kSitePolicy[] = "/etc/pounce/policy.json";

// The file that such a configuration means; empty: there is none.
std::string policy_path(const Config& config);

class SitePolicy {
 public:
  // configured: as Config::policy.
  explicit SitePolicy(const std::string& configured, std::string usual = kSitePolicy);

  void look();
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

  const policy::Policy& now() const { return policy_; }
  const std::string& path() const { return path_; }        // empty: no policy
  const std::string& trouble() const { return trouble_; }  // why the file as it is now is not used; empty: it is

 private:
  using Stamp = std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;  // inode, size, seconds, nanoseconds
  static std::optional<Stamp> stamp_of(const std::string& path);
  void read(const std::string& path);

  const std::string configured_, usual_;
  std::string path_, trouble_;
  bool distrusted_ = false;  // its folders or owner: what mends that does not change its stamp
  std::optional<Stamp> stamp_;
  policy::Policy policy_;
  std::function<void()> changed_ = [] {};
};

// What the daemon goes by: the site's times where its policy has them, and of the user's own configuration whatever
// gives back earlier, starts less or keeps less.
lease::Defaults times_under(const policy::Policy& policy, const Config& config);
// The class by which people know a job: by its QoS, which is the class itself where the policy has none of it; without QoS
// by its name.
std::string class_of(const policy::Policy& policy, const JobView& job);
std::string class_of_qos(const policy::Policy& policy, const std::string& qos);
// A report of Slurm's in the policy's words: classes for QoS, what is taken instead, and which is taken where none is named.
void in_words_of(const policy::Policy& policy, ClassReport& report);

// Whether a node has room for it now, of the partition that its class takes here.
bool has_room(const policy::Policy& policy, const ClusterSnapshot& cluster_snapshot, const Resources& asks);

}  // namespace pounce::daemon
