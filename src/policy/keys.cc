#include "policy/keys.h"

#include <algorithm>
#include <numeric>

namespace pounce::policy {
namespace {

std::string join(std::string_view path, const std::string& name) {
  return path.empty() ? name : std::string(path) + "." + name;
}

// Levenshtein's distance, one row at a time.
std::size_t edits(const std::string& from, const std::string& to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

const std::vector<Key>& keys() {
  using enum Form;
  using enum Reader;
  static const std::vector<Key> all = {
      {"$schema", kText, kNobody, "for editors: where the schema is"},
      {"classes", kObject, kSlurm, "the classes, by the name that people use"},
      {"classes.*", kObject, kSlurm, "one class"},
      {"classes.*.qos", kText, kSlurm, "its QoS in Slurm; unset: the same name"},
      {"classes.*.partition", kText, kPounced,
       "where its jobs run; unset: Slurm's default. plan tells of one that is not there"},
      {"classes.*.account", kText, kPounced, "whose account its jobs use; unset: the person's default"},
      {"classes.*.walltime", kMinutes, kSlurm, "the longest time of a job (MaxWall)"},
      {"classes.*.running_jobs_per_user", kCount, kSlurm, "so many run at once, more wait (MaxJobsPU)"},
      {"classes.*.gpus_per_user", kCount, kSlurm, "GPUs that one person can have at once (MaxTRESPU); 0: none"},
      {"classes.*.priority", kCount, kSlurm, "who starts first; unset: 0"},
      {"classes.*.preempts", kTexts, kSlurm, "classes whose jobs may be ended for its own (Preempt)"},
      {"classes.*.grace", kDuration, kSlurm, "how long one that is preempted may still run (GraceTime)"},
      {"classes.*.deny_on_limit", kFlag, kSlurm, "what is over a limit is refused, instead of waiting (DenyOnLimit)"},
      {"leasing", kObject, kPounced, "how pounced holds leases"},
      {"leasing.keep_warm", kDuration, kPounced, "an idle worker is kept so long, while nobody waits for it"},
      {"leasing.keep_warm_blind", kDuration, kPounced,
       "the same where Slurm does not show other people's jobs, so that nobody can tell who waits"},
      {"leasing.idle_release", kDuration, kPounced, "an idle worker is given back after it"},
      {"leasing.poll_max", kDuration, kPounced, "Slurm is asked at least so often about what waits"},
      {"leasing.warm_poll", kDuration, kPounced, "Slurm is asked so often who waits for what is kept warm"},
      {"leasing.starts_per_hour", kCount, kPounced, "leases that one person's daemon may start in an hour; 0: as many as are wanted"},
      {"gpu_types", kObject, kPounced, "memory of each GPU type, by Slurm's name for it"},
      {"gpu_types.*", kMemory, kPounced, "its memory"},
      {"gpu_cuda", kObject, kPounced, "newest CUDA that each GPU type's driver runs, by Slurm's name for the type"},
      {"gpu_cuda.*", kVersion, kPounced, "its CUDA"},
      {"class_order", kTexts, kPounced,
       "classes to take where none is named, the first that fits; unset: all, the shortest walltime first"},
      {"fallbacks", kObject, kPounced, "by class: which are offered instead where it is full; nothing moves there by itself"},
      {"fallbacks.*", kTexts, kPounced, "classes, the best first"},
      {"slurm_options", kTexts, kPounced, "options of sbatch that people may pass on, without dashes"},
      {"prologue", kText, kPounced, "shell lines before each worker"},
      {"interpreter", kText, kPounced, "the workers' Python; `{home}` and `{user}` are replaced"},
      {"container", kText, kPounced, "what runs each worker: a command with `{command}` in it"},
      {"ports", kPorts, kPounced, "where workers listen"},
      {"interface", kText, kPounced, "the network interface that they listen at"},
  };
  return all;
}

std::string_view words_of(Form form) {
  switch (form) {
    case Form::kObject:
      return "an object";
    case Form::kDuration:
      return "a duration such as \"90s\", \"30min\", \"12h\" or \"7d\"";
    case Form::kMinutes:
      return "a duration of whole minutes such as \"30min\", \"12h\" or \"7d\"";
    case Form::kCount:
      return "a whole number";
    case Form::kFlag:
      return "true or false";
    case Form::kText:
      return "a text";
    case Form::kTexts:
      return "a list of different texts";
    case Form::kMemory:
      return "an amount of memory such as \"40GB\"";
    case Form::kPorts:
      return "a range of ports such as \"50000-50999\"";
    case Form::kVersion:
      return "a version such as \"12.4\"";
  }
  return "";
}

std::vector<std::string> names_in(std::string_view path) {
  std::vector<std::string> names;
  const std::string start = path.empty() ? std::string() : std::string(path) + ".";
  for (const Key& key : keys()) {
    if (!key.path.starts_with(start)) continue;
    const std::string rest(key.path.substr(start.size()));
    if (rest == "*") return {};
    if (rest.find('.') == std::string::npos) names.push_back(rest);
  }
  return names;
}

const Key* key_at(std::string_view path, const std::string& name) {
  for (const std::string& wanted : {join(path, name), join(path, "*")})
    for (const Key& key : keys())
      if (key.path == wanted && name != "*") return &key;
  return nullptr;
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  const auto best = std::ranges::min_element(candidates, {}, [&](const auto& other) { return edits(word, other); });
  return best == candidates.end() ? std::string() : *best;
}

}  // namespace pounce::policy
