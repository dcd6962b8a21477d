#include <algorithm>

#include "policy/job_template.h"
#include "policy/policy.h"
#include "policy/policy_keys.h"

namespace pounce::policy {
namespace {

std::vector<std::string> class_names(const Policy& policy) {
  std::vector<std::string> names;
  for (const Class& one : policy.classes) names.push_back(one.name);
  return names;
}

Result<void> known(const std::string& place, const std::string& word, const std::vector<std::string>& words,
                   const std::string& thing) {
  if (std::ranges::find(words, word) != words.end()) return {};
  const std::string near = nearest(word, words);
  return bad(place + " names \"" + word + "\", which is no " + thing +
             (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

Result<void> others(const std::string& place, const std::string& self, const std::vector<std::string>& named,
                    const std::vector<std::string>& classes) {
  for (const std::string& one : named) {
    if (const auto there = known(place, one, classes, "class of this file"); !there) return there;
    if (one == self) return bad(place + " names " + self + " itself");
  }
  return {};
}

Result<void> each_qos_once(const Policy& policy) {
  for (std::size_t i = 0; i < policy.classes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (policy.classes[i].qos.name == policy.classes[j].qos.name)
        return bad("classes." + policy.classes[j].name + " and classes." + policy.classes[i].name +
                   " have the same QoS, " + policy.classes[i].qos.name);
  return {};
}

// Allows only names that Slurm keeps apart: it ignores case, and separates lists by commas.
Result<void> plain_names(const Policy& policy) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
  for (const Class& one : policy.classes)
    if (one.qos.name.find_first_not_of(kAllowed) != std::string::npos)
      return bad("classes." + one.name + ": the name of the QoS \"" + one.qos.name +
                 "\" may have small letters, digits and _.- only; name one by \"qos\"");
  return {};
}

// Slurm refuses circles too, but names no class.
Result<void> no_circle(const Policy& policy, const Class& start, const Class& at, std::size_t depth) {
  for (const std::string& name : at.qos.preempts) {
    if (name == start.name) return bad("classes." + start.name + ".preempts is a circle: it is preempted itself");
    const Class& next = *std::ranges::find(policy.classes, name, &Class::name);
    if (depth == 0) continue;  // a circle of other classes, reported for those
    if (const auto fine = no_circle(policy, start, next, depth - 1); !fine) return fine;
  }
  return {};
}

// Checks the names in braces: "{home}/env" -> home.
Result<void> placeholders(const std::string& place, const std::string& text, const std::vector<std::string>& allowed) {
  for (auto open = text.find('{'); open != std::string::npos; open = text.find('{', open + 1)) {
    const auto close = text.find('}', open);
    const std::string name = text.substr(open + 1, close == std::string::npos ? close : close - open - 1);
    if (const auto there = known(place, name, allowed, "placeholder"); !there) return there;
  }
  return {};
}

Result<void> templates(const Policy& policy) {
  if (const auto fine = placeholders("interpreter", policy.interpreter, {"home", "user"}); !fine) return fine;
  const auto words = command_words(policy.container);
  if (!words) return bad("container: " + words.error().text);
  if (!policy.container.empty() && std::ranges::find(*words, "{command}") == words->end())
    return bad("container has no word {command}: there the worker's own command belongs");
  return placeholders("container", policy.container, {"command", "home", "user"});
}

const std::string& qos_of(const Policy& policy, const std::string& name) {
  return std::ranges::find(policy.classes, name, &Class::name)->qos.name;
}

}  // namespace

Result<void> resolve(Policy& policy) {
  const auto classes = class_names(policy);
  if (const auto once = each_qos_once(policy); !once) return once;
  if (const auto plain = plain_names(policy); !plain) return plain;
  for (const Class& one : policy.classes)
    if (const auto fine = others("classes." + one.name + ".preempts", one.name, one.qos.preempts, classes); !fine)
      return fine;
  for (const Class& one : policy.classes)
    if (const auto fine = no_circle(policy, one, one, policy.classes.size()); !fine) return fine;
  for (const auto& [name, instead] : policy.fallbacks) {
    if (const auto fine = known("fallbacks", name, classes, "class of this file"); !fine) return fine;
    if (const auto fine = others("fallbacks." + name, name, instead, classes); !fine) return fine;
  }
  for (const std::string& name : policy.class_order)
    if (const auto fine = known("class_order", name, classes, "class of this file"); !fine) return fine;
  for (const std::string& option : policy.slurm_options)
    if (const auto fine = known("slurm_options", option, slurm_options_there_are(), "option that may be passed on");
        !fine)
      return fine;
  if (const auto fine = templates(policy); !fine) return fine;
  if (!policy.notify.empty() && !policy.notify.starts_with('/'))
    return bad("notify is a program by its whole path, such as \"/etc/pounce/notify\", not \"" + policy.notify + "\"");
  for (Class& one : policy.classes) {
    for (std::string& preempted : one.qos.preempts) preempted = qos_of(policy, preempted);
    std::ranges::sort(one.qos.preempts);
  }
  return {};
}

std::string ports_text(const Policy& policy) {
  if (!policy.ports) return {};
  return std::to_string(policy.ports->first) + "-" + std::to_string(policy.ports->second);
}

std::vector<Qos> all_qos(const Policy& policy) {
  std::vector<Qos> all;
  for (const Class& one : policy.classes) all.push_back(one.qos);
  std::ranges::sort(all, {}, &Qos::name);
  return all;
}

}  // namespace pounce::policy
