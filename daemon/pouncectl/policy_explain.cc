// pouncectl policy explain: what becomes of a request under a policy. The cluster is not asked: of several GPU types the
// first that will do is told, and every class is taken to be open.
#include <nlohmann/json.hpp>

#include "policy/placement_choice.h"
#include "pouncectl/commands.h"
#include "pouncectl/error_report.h"
#include "pouncectl/output.h"
#include "pouncectl/policy_commands.h"
#include "pouncectl/policy_request.h"
#include "pouncectl/program.h"

namespace pounce::ctl {
namespace {

Result<std::string> file_here() {
  const auto where = nlohmann::json::parse(output_of({sibling("pounced"), "where"}), nullptr, false);
  const std::string path = where.is_object() ? where.value("policy", "") : "";
  if (!path.empty()) return path;
  return failure(ErrorCode::kBadRequest, "this site has no policy file", "Name one: pouncectl policy explain FILE.");
}

Result<policy::Choice> explained(const PolicyOptions& options) {
  const auto asked = request_from(options.request);
  if (!asked) return failure(asked.error());
  const auto file = options.file.empty() ? file_here() : Result<std::string>(options.file);
  if (!file) return failure(file.error());
  const auto policy = read_policy_file(*file);
  if (!policy) return failure(policy.error());
  return policy::choose(*policy, *asked, {});
}

std::string or_word(const std::string& text, const char* otherwise) { return text.empty() ? otherwise : text; }

}  // namespace

int policy_explain(const PolicyOptions& options, bool json) {
  const auto choice = explained(options);
  if (!choice) return report(choice.error(), json);
  const Resources& asked = choice->resources;
  if (json) {
    print_json({{"class", asked.class_name}, {"qos", choice->qos}, {"partition", choice->partition},
                {"account", asked.account}, {"gpu_type", asked.gpu_type}, {"why", choice->why}});
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
