// pouncectl policy explain: the job that a policy makes of a request. Without --here the cluster is not queried: the
// first suitable GPU type is named, and every class counts as open. With --here it is queried as pounced does it.
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/join.h"
#include "policy/placement_choice.h"
#include "policy/templates.h"
#include "pouncectl/commands.h"
#include "pouncectl/error_report.h"
#include "pouncectl/libslurm.h"
#include "pouncectl/output.h"
#include "pouncectl/policy_commands.h"
#include "pouncectl/policy_request.h"
#include "pouncectl/program.h"

namespace pounce::ctl {
namespace {

struct Explained {
  policy::Choice choice;
  std::string prologue, interpreter;
  std::vector<std::string> container;  // a command's words, one of them {command}; only that one: no container
};

policy::Who this_user() {
  const passwd* entry = ::getpwuid(::geteuid());
  const char* home = std::getenv("HOME");
  return {home != nullptr ? home : entry != nullptr ? entry->pw_dir : "", entry != nullptr ? entry->pw_name : std::to_string(::geteuid())};
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
  if (choice.qos.empty() || classes.empty() || std::ranges::find(classes, choice.qos, &ClassLimits::name) != classes.end()) return choice;
  const std::string& name = choice.resources.class_name.empty() ? choice.qos : choice.resources.class_name;
  return failure(ErrorCode::kUnknownClass, "there is no class '" + name + "' that is open to you; the classes are " + joined(classes, ", ", names));
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
    return failure(ErrorCode::kNoSlurm, "work runs on this machine, and there is no Slurm to ask", "Ask on a machine with Slurm.");
  if (file.empty() && !options.here)
    return failure(ErrorCode::kBadRequest, "this site has no policy file", "Name one: pouncectl policy explain FILE.");
  const auto policy = file.empty() ? Result<policy::Policy>() : options.here ? read_trusted_policy(file) : read_policy_file(file);
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
    print_json({{"class", resources.class_name}, {"qos", choice->qos}, {"partition", choice->partition},
                {"account", resources.account}, {"gpu_type", resources.gpu_type}, {"why", choice->why},
                {"time_min", resources.time.count()}, {"prologue", found->prologue},
                {"interpreter", found->interpreter}, {"container", found->container}});
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
