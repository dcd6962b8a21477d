// SPDX-License-Identifier: GPL-3.0-or-later
// Accounts and QoS from slurmctld's cache, and the service classes that are open to this user.

#include "pounce-slurm/classes.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>

#include "base/text.h"

namespace pounce::slurm {
namespace {

Result<Associations> load(std::string name,
                          decltype(assoc_mgr_info_request_msg_t::user_list) assoc_mgr_info_request_msg_t::* by) {
  assoc_mgr_info_request_msg_t request{};
  request.flags = ASSOC_MGR_INFO_FLAG_QOS | ASSOC_MGR_INFO_FLAG_ASSOC;
  request.*by = slurm_list_create(nullptr);
  slurm_list_append(request.*by, name.data());
  assoc_mgr_info_msg_t* raw = nullptr;
  const int code = slurm_code(slurm_load_assoc_mgr_info(&request, &raw));
  slurm_list_destroy(request.*by);
  if (code != 0) return failure(slurm_error(code, Doing::kReading));
  return Associations(raw);
}

}  // namespace

Result<Associations> load_associations_of_user(const std::string& user) {
  return load(user, &assoc_mgr_info_request_msg_t::user_list);
}

Result<Associations> load_associations_of_account(const std::string& account) {
  return load(account, &assoc_mgr_info_request_msg_t::acct_list);
}

std::vector<UserAccount> accounts_in(const assoc_mgr_info_msg_t& message, const std::string& user) {
  std::vector<UserAccount> accounts;
  for_each<slurmdb_assoc_rec_t>(message.assoc_list, [&](const slurmdb_assoc_rec_t& association) {
    if (text(association.user) != user) return;
    UserAccount account{text(association.acct), association.is_def != 0, association.def_qos_id};
    for_each<char>(association.qos_list, [&](const char& id) {
      const std::string_view digits(&id);
      std::uint32_t number = 0;
      if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc{})
        account.qos.insert(number);
    });
    accounts.push_back(std::move(account));
  });
  return accounts;
}

Result<std::vector<UserAccount>> load_accounts_of_user(const std::string& user) {
  const auto message = load_associations_of_user(user);
  if (!message) return failure(message.error());
  return accounts_in(**message, user);
}

std::uint32_t place_of(const assoc_mgr_info_msg_t& message, const std::string& tres) {
  std::uint32_t place = 0;
  while (place < message.tres_cnt && text(message.tres_names[place]) != tres) ++place;
  return place;
}

const slurmdb_used_limits_t* used_by_us(const slurmdb_qos_rec_t& qos) {
  const slurmdb_used_limits_t* found = nullptr;
  if (qos.usage != nullptr)
    for_each<slurmdb_used_limits_t>(qos.usage->user_limit_list, [&](const slurmdb_used_limits_t& one) {
      if (one.uid == ::geteuid()) found = &one;
    });
  return found;
}

namespace {

constexpr std::chrono::seconds kFresh{30};  // limits change rarely, but submits come in bursts

std::uint32_t or_zero(std::uint32_t value) { return is_set(value) ? value : 0; }

// The limits per job and per user are arrays in the order of tres_names.
std::optional<std::uint64_t> most_gpus(const assoc_mgr_info_msg_t& message, const slurmdb_qos_rec_t& qos) {
  std::optional<std::uint64_t> least;
  const std::uint32_t place = place_of(message, "gres/gpu");
  if (place == message.tres_cnt) return least;
  for (const std::uint64_t* limits : {qos.max_tres_pj_ctld, qos.max_tres_pu_ctld})
    if (limits != nullptr && is_set(limits[place])) least = std::min(least.value_or(limits[place]), limits[place]);
  return least;
}

// The user's rights by their associations: the ids of open QoS, the default QoS, the accounts.
struct Rights {
  std::set<std::uint32_t> open;
  std::uint32_t default_qos = 0;
  std::vector<std::string> accounts;
};

Rights rights_of(const assoc_mgr_info_msg_t& message, const std::string& user) {
  Rights rights;
  for (const UserAccount& account : accounts_in(message, user)) {
    rights.accounts.push_back(account.name);
    if (account.is_default) rights.default_qos = account.default_qos;
    rights.open.insert(account.qos.begin(), account.qos.end());
  }
  return rights;
}

std::string counted(std::uint64_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

bool gives_time(const UserClass& one, const Resources& resources) {
  return one.limits.max_time.count() == 0 || resources.time <= one.limits.max_time;
}
bool gives_gpus(const UserClass& one, const Resources& resources) {
  return !one.gpus || resources.all_gpus() <= *one.gpus;
}

std::string other_class(const Classes& classes, const Resources& resources, const std::string& less) {
  std::vector<std::string> names;
  for (const UserClass& one : classes.all)
    if (one.open && gives_time(one, resources) && gives_gpus(one, resources)) names.push_back(one.limits.name);
  return "Ask for " + less + (names.empty() ? "." : ", or for a class that gives it: " + joined(names) + ".");
}

Result<void> given_by(const Classes& classes, const JobSpec& spec) {
  const Resources& resources = spec.resources;
  const UserClass* chosen = find(classes, qos_of(spec));
  // Slurm refuses an unknown QoS only if it enforces QoS. An empty list means that nothing is known.
  if (chosen == nullptr && (qos_of(spec).empty() || classes.all.empty())) return {};
  if (chosen == nullptr)
    return failure(ErrorCode::kUnknownClass,
                   "there is no " + class_words(spec) + "; the classes are " + class_names(classes));
  const std::string name = "class " + (resources.class_name.empty() ? chosen->limits.name : resources.class_name),
                    but = "; asked for: " + request_words(resources);
  if (!gives_time(*chosen, resources)) {
    const auto minutes = static_cast<std::uint64_t>(chosen->limits.max_time.count());
    return failure(ErrorCode::kUnsatisfiable, name + " gives at most " + counted(minutes, "minute") + but,
                   other_class(classes, resources, "less time"));
  }
  if (!gives_gpus(*chosen, resources))
    return failure(ErrorCode::kUnsatisfiable, name + " gives one user at most " + counted(*chosen->gpus, "GPU") + but,
                   other_class(classes, resources, "fewer GPUs"));
  return {};
}

}  // namespace

std::string request_words(const Resources& resources) {
  std::vector<std::string> parts;
  const auto add = [&parts](const std::string& part) { parts.push_back(part); };
  if (resources.gpus > 0)
    add(counted(resources.gpus, "GPU") + (resources.gpu_type.empty() ? "" : " of type " + resources.gpu_type));
  if (resources.cpus > 0) add(counted(resources.cpus, "CPU"));
  if (resources.memory_mib > 0) add(std::to_string(resources.memory_mib) + " MiB of memory");
  if (resources.time.count() > 0) add(counted(static_cast<std::uint64_t>(resources.time.count()), "minute"));
  std::string words = joined(parts);
  const std::string on_nodes = resources.nodes > 1 ? " on " + counted(resources.nodes, "node") : "";
  if (resources.workers > 1)
    words = counted(resources.workers, "worker") + on_nodes + (words.empty() ? "" : ", each with " + words);
  return words.empty() ? "nothing in particular" : words;
}

const UserClass* find(const Classes& classes, const std::string& qos) {
  const std::string& name = qos.empty() ? classes.default_class : qos;
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
    if (qos.id == rights.default_qos) classes.default_class = name;
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
  const auto newest = load_classes();                 // an admin may have raised the limit just now
  return newest ? given_by(*newest, spec) : Result<void>{};
}

}  // namespace pounce::slurm
