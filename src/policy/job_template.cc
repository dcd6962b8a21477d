// What of a policy goes into a job: the workers' command line, and the options of sbatch that a user may pass on.

#include "policy/job_template.h"

#include <algorithm>

#include "base/text.h"
#include "policy/policy_keys.h"
#include "pounce/fields.h"
#include "pounce/resources.h"

namespace pounce::policy {
namespace {

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

Result<std::vector<std::string>> command_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? 0 : c;
      inside = true;  // '' is a word too
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote != 0) return failure(ErrorCode::kBadRequest, "a quote is not closed");
  if (inside) words.push_back(word);
  return words;
}

std::string filled_in(std::string text, const Who& who) {
  replace_all(text, "{home}", who.home);
  replace_all(text, "{user}", who.user);
  return text;
}

std::vector<std::string> worker_command(const Policy& policy, const std::vector<std::string>& interpreter, bool named,
                                        const Who& who) {
  const bool sites = !named && !policy.interpreter.empty();
  const std::vector<std::string> inner = sites ? std::vector{filled_in(policy.interpreter, who)} : interpreter;
  if (policy.container.empty()) return inner;
  std::vector<std::string> command;
  for (const std::string& word : command_words(policy.container).value_or(std::vector<std::string>{})) {
    if (word == "{command}")
      command.insert(command.end(), inner.begin(), inner.end());
    else
      command.push_back(filled_in(word, who));
  }
  return command;
}

const std::vector<std::string>& slurm_options_there_are() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names = {"constraint", "exclusive", "licenses", "mail-type", "mail-user",
                                      "nodelist",   "prefer",    "switches", "tmp",       "wckey"};
    const Resources any;
    for_each_field(any, [&names](const auto& field, const auto&) {
      if (!field.option.empty() && field.option != "account") names.emplace_back(field.option);
    });
    std::ranges::sort(names);
    return names;
  }();
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
