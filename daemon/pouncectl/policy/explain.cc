// pouncectl policy explain: what becomes of a request under a policy. The cluster is not looked at: of several GPU
// types the first that fits is shown, and every class is taken to be open. With --here it is looked at, as pounced
// does.

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/durations.h"
#include "base/text.h"
#include "job/request_bounds.h"
#include "policy/job_template.h"
#include "policy/placement_choice.h"
#include "policy/policy_keys.h"
#include "pouncectl/commands.h"
#include "pouncectl/output.h"
#include "pouncectl/policy/policy_commands.h"
#include "pouncectl/queries.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;
using policy::cuda_from;
using policy::mib_from;

// Returns false for a value of the wrong type.
using Take = std::function<bool(const json&, Resources&)>;

Take count(std::uint32_t Resources::* field) {
  return [field](const json& value, Resources& resources) {
    if (!value.is_number_unsigned() || !std::in_range<std::uint32_t>(value.get<std::uint64_t>())) return false;
    resources.*field = value.get<std::uint32_t>();
    return true;
  };
}

Take text(std::string Resources::* field) {
  return [field](const json& value, Resources& resources) {
    if (value.is_string()) resources.*field = value.get<std::string>();
    if (!value.is_array()) return value.is_string();
    std::vector<std::string> list;  // in order of preference
    for (const json& one : value) {
      if (!one.is_string()) return false;
      list.push_back(one.get<std::string>());
    }
    resources.*field = joined(list, ",");
    return true;
  };
}

// ">=20GB" means "20GB": these are lower bounds.
std::string bound(const json& value) {
  if (value.is_number()) return value.dump();
  std::string written = value.is_string() ? value.get<std::string>() : "";
  if (written.starts_with(">=")) written.erase(0, 2);
  return written;
}

Take memory(std::uint64_t Resources::* field) {
  return [field](const json& value, Resources& resources) {
    const auto mib = mib_from(bound(value));
    resources.*field = mib.value_or(0);
    return mib.has_value();
  };
}

bool take_cuda(const json& value, Resources& resources) {
  const auto version = cuda_from(bound(value));
  resources.cuda = version.value_or(0);
  return version.has_value();
}

bool take_time(const json& value, Resources& resources) {
  const auto seconds = value.is_string() ? time_limit_s(value.get<std::string>()) : std::nullopt;
  if (!seconds || *seconds > std::chrono::seconds(kMostTime).count()) return false;
  resources.time = std::chrono::minutes(static_cast<std::int64_t>(std::ceil(*seconds / 60)));
  return true;
}

bool take_slurm(const json& value, Resources& resources) {
  if (!value.is_object()) return false;
  for (const auto& [name, one] : value.items())
    resources.slurm[name] = one.is_string() ? one.get<std::string>() : one.dump();
  return true;
}

const std::map<std::string, Take>& words() {
  static const std::map<std::string, Take> all = {{"class", text(&Resources::class_name)},
                                                  {"gpus", count(&Resources::gpus)},
                                                  {"gpu_type", text(&Resources::gpu_type)},
                                                  {"gpu_memory", memory(&Resources::gpu_memory_mib)},
                                                  {"cuda", take_cuda},
                                                  {"cpus", count(&Resources::cpus)},
                                                  {"memory", memory(&Resources::memory_mib)},
                                                  {"time", take_time},
                                                  {"workers", count(&Resources::workers)},
                                                  {"account", text(&Resources::account)},
                                                  {"slurm", take_slurm}};
  return all;
}

}  // namespace

Result<Resources> request_from(const std::string& text) {
  const auto document = json::parse(text, nullptr, false);
  if (!document.is_object())
    return failure(ErrorCode::kBadRequest, "the request is no JSON object",
                   "Write it as {\"gpus\": 1, \"time\": \"20min\"}.");
  Resources resources;
  for (const auto& [name, value] : document.items()) {
    std::vector<std::string> names;
    for (const auto& [word, take] : words()) names.push_back(word);
    const auto known = words().find(name);
    if (known == words().end())
      return failure(ErrorCode::kBadRequest,
                     "a request has no \"" + name + "\"; did you mean \"" + policy::nearest(name, names) + "\"?");
    if (!known->second(value, resources))
      return failure(ErrorCode::kBadRequest, "the request's \"" + name + "\" cannot be " + value.dump());
  }
  const bool needs_gpu = !resources.gpu_type.empty() || resources.gpu_memory_mib > 0 || resources.cuda > 0;
  if (needs_gpu && !document.contains("gpus")) resources.gpus = 1;
  if (const auto possible = job::check_bounds(resources); !possible) return failure(possible.error());
  return resources;
}

namespace {

struct Explained {
  policy::Choice choice;
  std::string prologue, interpreter;
  std::vector<std::string> container;  // a command's words, one of them {command}; only that one: no container
};

policy::Who this_user() {
  const passwd* entry = ::getpwuid(::geteuid());
  const char* home = std::getenv("HOME");
  return {home != nullptr    ? home
          : entry != nullptr ? entry->pw_dir
                             : "",
          entry != nullptr ? entry->pw_name : std::to_string(::geteuid())};
}

// The configuration that a pounced on this machine would use.
struct SiteHere {
  std::string policy;  // empty: no policy
  bool local = false;  // work runs on this machine, without Slurm
};

SiteHere site_here() {
  const auto where = nlohmann::json::parse(output_of({sibling("pounced"), "where"}), nullptr, false);
  if (!where.is_object()) return {};
  return {where.value("policy", ""), where.value("launcher", "") == "local"};
}

// Refuses a class that is not open. Slurm does so at submit, but a script must be refused before it is written.
Result<policy::Choice> open_here(policy::Choice choice, const ClusterFacts& facts) {
  const auto names = [](const ClassLimits& one) { return one.name; };
  const auto& classes = facts.classes;
  if (choice.qos.empty() || classes.empty() ||
      std::ranges::find(classes, choice.qos, &ClassLimits::name) != classes.end())
    return choice;
  const std::string& name = choice.resources.class_name.empty() ? choice.qos : choice.resources.class_name;
  return failure(ErrorCode::kUnknownClass, "there is no class '" + name + "' that is open to you; the classes are " +
                                               joined(classes, ", ", names));
}

// What pounced would decide now. The requesting user runs the policy's prologue, so only a trusted file is read.
Result<policy::Choice> chosen_now(const policy::Policy& policy, const Resources& resources) {
  policy::SchedulingContext context;
  const auto facts = ask_slurm(slurm::AskFacts{});
  if (!facts) return failure(facts.error());
  context.has_qos = !facts->classes.empty();
  std::optional<ClusterSnapshot> cluster;
  if (policy::needs_cluster_snapshot(policy, resources)) {
    auto found = ask_slurm(slurm::AskClusterSnapshot{resources.not_nodes});
    if (!found) return failure(found.error());
    cluster = std::move(*found);
    context.cluster_snapshot = &*cluster;
  }
  auto choice = policy::choose(policy, resources, context);
  return choice ? open_here(std::move(*choice), *facts) : choice;
}

Result<Explained> explained(const PolicyOptions& options) {
  const auto request = request_from(options.request);
  if (!request) return failure(request.error());
  const SiteHere site = options.file.empty() ? site_here() : SiteHere{options.file};
  const std::string& file = site.policy;
  if (options.here && site.local)
    return failure(ErrorCode::kNoSlurm, "work runs on this machine, and there is no Slurm to ask",
                   "Ask on a machine with Slurm.");
  if (file.empty() && !options.here)
    return failure(ErrorCode::kBadRequest, "this site has no policy file", "Name one: pouncectl policy explain FILE.");
  const auto policy = file.empty()   ? Result<policy::Policy>()
                      : options.here ? read_trusted_policy(file)
                                     : read_policy_file(file);
  if (!policy) return failure(policy.error());
  auto choice = options.here ? chosen_now(*policy, *request) : policy::choose(*policy, *request, {});
  if (!choice) return failure(choice.error());
  const policy::Who who = this_user();
  return Explained{std::move(*choice), policy->prologue, policy::filled_in(policy->interpreter, who),
                   policy::worker_command(*policy, {"{command}"}, true, who)};
}

std::string or_word(const std::string& text, const char* otherwise) { return text.empty() ? otherwise : text; }

}  // namespace

int policy_explain(const PolicyOptions& options, bool json) {
  const auto found = explained(options);
  if (!found) return report(found.error(), json);
  const policy::Choice* choice = &found->choice;
  const Resources& resources = choice->resources;
  if (json) {
    print_json({{"class", resources.class_name},
                {"qos", choice->qos},
                {"partition", choice->partition},
                {"account", resources.account},
                {"gpu_type", resources.gpu_type},
                {"why", choice->why},
                {"time_min", resources.time.count()},
                {"prologue", found->prologue},
                {"interpreter", found->interpreter},
                {"container", found->container}});
    return kOk;
  }
  print_line("class      " + or_word(resources.class_name, "Slurm's default"));
  print_line("QoS        " + or_word(choice->qos, "Slurm's default"));
  print_line("partition  " + or_word(choice->partition, "Slurm's default"));
  print_line("account    " + or_word(resources.account, "the user's default"));
  if (resources.gpus > 0) print_line("GPU type   " + or_word(resources.gpu_type, "any"));
  for (const std::string& why : choice->why) print_line("because    " + why);
  return kOk;
}

}  // namespace pounce::ctl
