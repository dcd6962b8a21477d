#include "pounced/leases/site_policy.h"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/trusted_path.h"
#include "policy/placement_choice.h"

namespace pounce::daemon {

slurm::GatewayOptions gateway_options(const Config& config) {
  slurm::GatewayOptions options;
  options.program = config.pounce_slurm;
  options.request_deadline = config.times.slurm_request;
  for (const char* name : {"SLURM_CONF", "SLURM_CONF_SERVER", "HOME", "PATH", "LANG", "TZ"})
    if (const char* value = std::getenv(name)) options.environment[name] = value;
  return options;
}

Result<ClusterFacts> ask_facts(const Config& config) {
  slurm::SlurmGateway gateway(gateway_options(config));
  std::optional<Result<ClusterFacts>> answer;
  gateway.ask(slurm::AskFacts{}, [&](Result<ClusterFacts> facts) { answer = std::move(facts); });
  while (!answer) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(gateway.next_deadline() - Clock::now());
    pollfd readable{gateway.fd(), POLLIN, 0};
    ::poll(&readable, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000)));
    if (readable.revents != 0) gateway.on_readable();
    gateway.on_time(Clock::now());
  }
  return std::move(*answer);
}

namespace {

using lease::Defaults;
using policy::Leasing;
using Time = std::optional<std::chrono::seconds>;

constexpr std::chrono::seconds kLeastBetweenPolls{1};

// The daemon's times that a policy sets. For times that release a lease earlier, the user's own value may be
// stricter.
struct LeasingKey {
  const char* key;  // in a user's own configuration
  Time Leasing::* sites;
  std::chrono::milliseconds Defaults::* time;
  bool smaller_holds;
};
constexpr LeasingKey kTimes[] = {{"keep_warm_s", &Leasing::keep_warm, &Defaults::keep_warm, true},
                                 {"keep_warm_blind_s", &Leasing::keep_warm_blind, &Defaults::keep_warm_blind, true},
                                 {"idle_release_s", &Leasing::idle_release, &Defaults::idle_release, true},
                                 {"parked_keep_s", &Leasing::parked_keep, &Defaults::parked_keep, true},
                                 {"step_yield_after_s", &Leasing::step_yield_after, &Defaults::step_yield_after, false},
                                 {"step_min_run_s", &Leasing::step_min_run, &Defaults::step_min_run, false},
                                 {"poll_max_s", &Leasing::poll_max, &Defaults::poll_max, false},
                                 {"warm_poll_s", &Leasing::warm_poll, &Defaults::warm_poll, false}};

// The smaller of two limits, where 0 means no limit.
std::uint32_t smaller_limit(std::uint32_t own, std::uint64_t sites) {
  if (sites == 0) return own;
  const auto known =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(sites, std::numeric_limits<std::uint32_t>::max()));
  return own == 0 ? known : std::min(own, known);
}

}  // namespace

std::string policy_path(const Config& config) {
  std::error_code unreadable;
  if (!config.policy.empty()) return std::filesystem::absolute(config.policy).string();
  return std::filesystem::exists(kSitePolicy, unreadable) ? kSitePolicy : "";
}

SitePolicy::SitePolicy(const std::string& configured, std::string usual)
    : configured_(configured.empty() ? "" : std::filesystem::absolute(configured).string()), usual_(std::move(usual)) {
  look();
}

std::optional<SitePolicy::Stamp> SitePolicy::stamp_of(const std::string& path) {
  struct stat is{};
  // Stamp{}: the file cannot be examined.
  if (::stat(path.c_str(), &is) != 0) return errno == ENOENT ? std::nullopt : std::optional(Stamp{});
  return Stamp{is.st_ino, is.st_size, is.st_mtim.tv_sec, is.st_mtim.tv_nsec};
}

void SitePolicy::look() {
  const std::string& path = configured_.empty() ? usual_ : configured_;
  const auto stamp = stamp_of(path);
  if (stamp == stamp_ && !distrusted_ && (stamp || configured_.empty() || !trouble_.empty())) return;
  stamp_ = stamp;
  if (stamp || !configured_.empty()) return read(path);
  spdlog::info("policy {} is gone: there is none now", path_);
  path_.clear();
  trouble_.clear();
  distrusted_ = false;
  policy_ = {};
  changed_();
}

void SitePolicy::read(const std::string& path) {
  path_ = path;
  const auto text = read_trusted_file(path, policy::kMostPolicyBytes);
  distrusted_ = !text;
  auto read = text ? policy::parse_policy(*text) : failure(text.error());
  const std::string before = std::exchange(trouble_, read ? "" : read.error().text);
  if (!read) {
    const std::string remedy = read.error().remedy.empty() ? "" : ". " + read.error().remedy;
    if (trouble_ != before)
      spdlog::error("policy {} is not used, what was known before holds: {}{}", path, trouble_, remedy);
    return;
  }
  policy_ = std::move(*read);
  spdlog::info("policy {} holds from now on: {} classes", path, policy_.classes.size());
  changed_();
}

lease::Defaults times_under(const policy::Policy& policy, const Config& config) {
  lease::Defaults times = config.times;
  for (const LeasingKey& row : kTimes) {
    const Time& sites = policy.leasing.*row.sites;
    if (!sites) continue;
    const bool stricter = row.smaller_holds && config.said.contains(row.key) && times.*row.time < *sites;
    if (!stricter) times.*row.time = row.smaller_holds ? *sites : std::max(*sites, kLeastBetweenPolls);
  }
  times.poll_min = std::min(times.poll_min, times.poll_max);
  times.starts_per_hour = smaller_limit(times.starts_per_hour, policy.leasing.starts_per_hour.value_or(0));
  times.parked_most_mib =
      smaller_limit(times.parked_most_mib, policy.leasing.parked_most.value_or(policy::Mib{}).count);
  if (policy.leasing.cell_output)
    times.cell_output_mib =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(times.cell_output_mib, policy.leasing.cell_output->count));
  if (policy.leasing.keep_cells && !config.said.contains("keep_cells"))
    times.keep_cells = *policy.leasing.keep_cells ? 1 : 0;
  return times;
}

std::string class_of(const policy::Policy& policy, const JobView& job) {
  constexpr std::string_view kName = "pounce-";
  if (job.class_name.empty() && job.name.starts_with(kName)) return job.name.substr(kName.size());
  return class_of_qos(policy, job.class_name);
}

void in_words_of(const policy::Policy& policy, ClassReport& report) {
  for (ClassUse& use : report.classes) {
    use.name = class_of_qos(policy, use.name);
    const auto instead = policy.fallbacks.find(use.name);
    if (instead != policy.fallbacks.end()) use.instead = instead->second;
    if (!policy.classes.empty()) use.preset = false;
  }
  for (const policy::Class* one : policy::in_order(policy)) {
    const auto open = std::ranges::find(report.classes, one->name, &ClassUse::name);
    if (open == report.classes.end()) continue;
    open->preset = true;
    return;
  }
}

bool has_room(const policy::Policy& policy, const ClusterSnapshot& cluster_snapshot, const Resources& asks) {
  const auto found = std::ranges::find(policy.classes, asks.class_name, &policy::Class::name);
  const std::string partition = found == policy.classes.end() ? "" : found->partition;
  return policy::enough_have_room(policy::nodes_for(cluster_snapshot, partition), asks, asks.gpu_type);
}

std::string class_of_qos(const policy::Policy& policy, const std::string& qos) {
  for (const policy::Class& one : policy.classes)
    if (one.qos.name == qos) return one.name;
  return qos;
}

}  // namespace pounce::daemon
