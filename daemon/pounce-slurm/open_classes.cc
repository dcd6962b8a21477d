// SPDX-License-Identifier: GPL-3.0-or-later
#include "open_classes.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "associations.h"
#include "base/join.h"
#include "slurm_compat.h"
#include "slurm_error.h"

namespace pounce::slurm {
namespace {

constexpr std::chrono::seconds kFresh{30};  // limits change rarely, submits come in bursts

std::uint32_t or_zero(std::uint32_t value) { return is_set(value) ? value : 0; }

// The limits of one job and of one user's jobs together are arrays in the order of tres_names.
std::optional<std::uint64_t> most_gpus(const assoc_mgr_info_msg_t& message, const slurmdb_qos_rec_t& qos) {
  std::optional<std::uint64_t> least;
  const std::uint32_t place = place_of(message, "gres/gpu");
  if (place == message.tres_cnt) return least;
  for (const std::uint64_t* limits : {qos.max_tres_pj_ctld, qos.max_tres_pu_ctld})
    if (limits != nullptr && is_set(limits[place])) least = std::min(least.value_or(limits[place]), limits[place]);
  return least;
}

// What the user's associations say: ids of the QoS that are open, the one that is taken when none is named, the accounts.
struct Rights {
  std::set<std::uint32_t> open;
  std::uint32_t preset = 0;
  std::vector<std::string> accounts;
};

Rights rights_of(const assoc_mgr_info_msg_t& message, const std::string& user) {
  Rights rights;
  for (const UserAccount& account : accounts_in(message, user)) {
    rights.accounts.push_back(account.name);
    if (account.preset) rights.preset = account.preset_qos;
    rights.open.insert(account.qos.begin(), account.qos.end());
  }
  return rights;
}

std::string counted(std::uint64_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

bool gives_time(const UserClass& one, const Resources& asked) {
  return one.limits.max_time.count() == 0 || asked.time <= one.limits.max_time;
}
bool gives_gpus(const UserClass& one, const Resources& asked) { return !one.gpus || asked.all_gpus() <= *one.gpus; }

std::string other_class(const Classes& classes, const Resources& asked, const std::string& less) {
  std::vector<std::string> names;
  for (const UserClass& one : classes.all)
    if (one.open && gives_time(one, asked) && gives_gpus(one, asked)) names.push_back(one.limits.name);
  return "Ask for " + less + (names.empty() ? "." : ", or for a class that gives it: " + joined(names) + ".");
}

Result<void> given_by(const Classes& classes, const JobSpec& spec) {
  const Resources& asked = spec.resources;
  const UserClass* chosen = find(classes, qos_of(spec));
  // Slurm refuses it only where it enforces QoS. Where none is told, nothing is known.
  if (chosen == nullptr && (qos_of(spec).empty() || classes.all.empty())) return {};
  if (chosen == nullptr)
    return failure(ErrorCode::kUnknownClass, "there is no " + class_words(spec) + "; the classes are " + class_names(classes));
  const std::string name = "class " + (asked.class_name.empty() ? chosen->limits.name : asked.class_name),
                    but = "; asked for: " + asked_for(asked);
  if (!gives_time(*chosen, asked)) {
    const auto minutes = static_cast<std::uint64_t>(chosen->limits.max_time.count());
    return failure(ErrorCode::kUnsatisfiable, name + " gives at most " + counted(minutes, "minute") + but,
                   other_class(classes, asked, "less time"));
  }
  if (!gives_gpus(*chosen, asked))
    return failure(ErrorCode::kUnsatisfiable, name + " gives one user at most " + counted(*chosen->gpus, "GPU") + but,
                   other_class(classes, asked, "fewer GPUs"));
  return {};
}

}  // namespace

std::string asked_for(const Resources& asked) {
  std::vector<std::string> parts;
  const auto add = [&parts](const std::string& part) { parts.push_back(part); };
  if (asked.gpus > 0) add(counted(asked.gpus, "GPU") + (asked.gpu_type.empty() ? "" : " of type " + asked.gpu_type));
  if (asked.cpus > 0) add(counted(asked.cpus, "CPU"));
  if (asked.memory_mib > 0) add(std::to_string(asked.memory_mib) + " MiB of memory");
  if (asked.time.count() > 0) add(counted(static_cast<std::uint64_t>(asked.time.count()), "minute"));
  std::string words = joined(parts);
  const std::string on_nodes = asked.nodes > 1 ? " on " + counted(asked.nodes, "node") : "";
  if (asked.workers > 1) words = counted(asked.workers, "worker") + on_nodes + (words.empty() ? "" : ", each with " + words);
  return words.empty() ? "nothing in particular" : words;
}

const UserClass* find(const Classes& classes, const std::string& asked) {
  const std::string& name = asked.empty() ? classes.default_class : asked;
  const auto found = std::ranges::find(classes.all, name, [](const UserClass& one) { return one.limits.name; });
  return found != classes.all.end() ? &*found : nullptr;
}

std::string qos_of(const JobSpec& spec) { return spec.qos.empty() ? spec.resources.class_name : spec.qos; }

std::string class_words(const JobSpec& spec) {
  const std::string& name = spec.resources.class_name;
  return "class '" + name + "'" + (qos_of(spec) == name ? "" : " (QoS '" + qos_of(spec) + "')");
}

std::string user_name() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::geteuid());
}

Classes classes_in(const assoc_mgr_info_msg_t& message, const std::string& user) {
  const Rights rights = rights_of(message, user);
  Classes classes;
  classes.accounts = rights.accounts;
  for_each<slurmdb_qos_rec_t>(message.qos_list, [&](const slurmdb_qos_rec_t& qos) {
    const std::string name = text(qos.name);
    const ClassLimits limits{name, std::chrono::minutes(or_zero(qos.max_wall_pj)), or_zero(qos.max_jobs_pu),
                             or_zero(qos.max_submit_jobs_pu)};
    classes.all.push_back({limits, qos.id, rights.open.contains(qos.id), most_gpus(message, qos)});
    if (qos.id == rights.preset) classes.default_class = name;
  });
  std::ranges::sort(classes.all, {}, [](const UserClass& one) { return one.limits.name; });
  return classes;
}

Result<Classes> load_classes() {
  const std::string user = user_name();
  const auto message = load_associations_of_user(user);
  if (!message) return failure(message.error());
  return classes_in(**message, user);
}

Result<Classes> recent_classes() {
  static Classes known;
  static std::chrono::steady_clock::time_point loaded;
  const auto now = std::chrono::steady_clock::now();
  if (loaded != decltype(loaded){} && now - loaded < kFresh) return known;
  auto classes = load_classes();
  if (!classes) return classes;
  known = *classes;
  loaded = now;
  return known;
}

std::string class_names(const Classes& classes) {
  std::vector<std::string> open, all;
  for (const UserClass& one : classes.all) {
    if (one.open) open.push_back(one.limits.name);
    all.push_back(one.limits.name);
  }
  return joined(open.empty() ? all : open);
}

Result<void> check_limits(const JobSpec& spec) {
  const auto recent = recent_classes();
  if (!recent || given_by(*recent, spec)) return {};  // Slurm decides
  const auto newest = load_classes();  // an admin may just have raised the limit
  return newest ? given_by(*newest, spec) : Result<void>{};
}

}  // namespace pounce::slurm
