// pouncectl policy explain: what becomes of a request under a policy. The cluster is not asked: of several GPU types the
// first that will do is told, and every class is taken to be open. With --here it is asked, as pounced asks it.
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
  std::vector<std::string> container;  // the words of a command with {command} among them; that alone: none
};

policy::Who this_user() {
  const passwd* entry = ::getpwuid(::geteuid());
  const char* home = std::getenv("HOME");
  return {home != nullptr ? home : entry != nullptr ? entry->pw_dir : "", entry != nullptr ? entry->pw_name : std::to_string(::geteuid())};
}

// What a pounced that was started here would use.
struct SiteHere {
  std::string policy;  // empty: it has none
  bool local = false;  // work runs on this machine, and there is no Slurm to ask
};

SiteHere site_here() {
  const auto where = nlohmann::json::parse(output_of({sibling("pounced"), "where"}), nullptr, false);
  if (!where.is_object()) return {};
  return {where.value("policy", ""), where.value("launcher", "") == "local"};
}

// Slurm refuses such a job as it is submitted; a script is refused before it is written.
Result<policy::Choice> open_here(policy::Choice choice, const ClusterFacts& facts) {
  const auto names = [](const ClassLimits& one) { return one.name; };
  const auto& classes = facts.classes;
  if (choice.qos.empty() || classes.empty() || std::ranges::find(classes, choice.qos, &ClassLimits::name) != classes.end()) return choice;
  const std::string& name = choice.resources.class_name.empty() ? choice.qos : choice.resources.class_name;
  return failure(ErrorCode::kUnknownClass, "there is no class '" + name + "' that is open to you; the classes are " + joined(classes, ", ", names));
}

// What pounced would decide now: its prologue is run by whoever asks, so nobody else may have written the file.
Result<policy::Choice> chosen_now(const policy::Policy& policy, const Resources& asked) {
  policy::SchedulingContext context;
  const auto facts = ask_slurm(slurm::AskFacts{});
  if (!facts) return failure(facts.error());
  context.has_qos = !facts->classes.empty();
  std::optional<ClusterSnapshot> cluster;
  if (policy::needs_cluster_snapshot(policy, asked)) {
    auto found = ask_slurm(slurm::AskClusterSnapshot{asked.not_nodes});
    if (!found) return failure(found.error());
    cluster = std::move(*found);
    context.cluster_snapshot = &*cluster;
  }
  auto choice = policy::choose(policy, asked, context);
  return choice ? open_here(std::move(*choice), *facts) : choice;
}

Result<Explained> explained(const PolicyOptions& options) {
  const auto asked = request_from(options.request);
  if (!asked) return failure(asked.error());
  const SiteHere site = options.file.empty() ? site_here() : SiteHere{options.file};
  const std::string& file = site.policy;
  if (options.here && site.local)
    return failure(ErrorCode::kNoSlurm, "work runs on this machine, and there is no Slurm to ask", "Ask on a machine with Slurm.");
  if (file.empty() && !options.here)
    return failure(ErrorCode::kBadRequest, "this site has no policy file", "Name one: pouncectl policy explain FILE.");
  const auto policy = file.empty() ? Result<policy::Policy>() : options.here ? read_trusted_policy(file) : read_policy_file(file);
  if (!policy) return failure(policy.error());
  auto choice = options.here ? chosen_now(*policy, *asked) : policy::choose(*policy, *asked, {});
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
  const Resources& asked = choice->resources;
  if (json) {
    print_json({{"class", asked.class_name}, {"qos", choice->qos}, {"partition", choice->partition},
                {"account", asked.account}, {"gpu_type", asked.gpu_type}, {"why", choice->why},
                {"time_min", asked.time.count()}, {"prologue", found->prologue},
                {"interpreter", found->interpreter}, {"container", found->container}});
    return kOk;
  }
  print_line("class      " + or_word(asked.class_name, "Slurm's default"));
  print_line("QoS        " + or_word(choice->qos, "Slurm's default"));
  print_line("partition  " + or_word(choice->partition, "Slurm's default"));
  print_line("account    " + or_word(asked.account, "the user's default"));
  if (asked.gpus > 0) print_line("GPU type   " + or_word(asked.gpu_type, "any"));
  for (const std::string& why : choice->why) print_line("because    " + why);
  return kOk;
}

}  // namespace pounce::ctl
