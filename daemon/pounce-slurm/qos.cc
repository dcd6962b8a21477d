// SPDX-License-Identifier: GPL-3.0-or-later
// QoS in slurmdbd, read and written: the limits of a policy's classes. Thread: main.

#include <pwd.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "pounce-slurm/classes.h"
#include "pounce-slurm/database.h"
#include "pounce-slurm/facts.h"
#include "slurm/questions.h"

namespace pounce::slurm {
namespace {

// Bits of AccountingStorageEnforce, which slurm.h lacks (read_config.h has them, the same from 22.05 to 26.05).
constexpr std::uint16_t kEnforcesLimits = 0x2, kEnforcesQos = 0x8;

std::vector<std::string> preempted(const slurmdb_qos_rec_t& qos, const std::map<std::uint32_t, std::string>& names) {
  std::vector<std::string> found;
  if (qos.preempt_bitstr == nullptr) return found;
  for (const auto& [id, name] : names)
    if (id < compat::bit_size(qos.preempt_bitstr) && compat::bit_is_set(qos.preempt_bitstr, id)) found.push_back(name);
  std::ranges::sort(found);
  return found;
}

Qos from_record(const slurmdb_qos_rec_t& record, const StoredQos& stored, std::optional<std::uint32_t> gpu) {
  Qos qos;
  qos.name = text(record.name);
  if (is_set(record.max_wall_pj)) qos.walltime = std::chrono::minutes(record.max_wall_pj);
  if (is_set(record.max_jobs_pu)) qos.running_jobs_per_user = record.max_jobs_pu;
  if (is_set(record.max_submit_jobs_pu)) qos.submitted_jobs_per_user = record.max_submit_jobs_pu;
  if (gpu) qos.gpus_per_user = tres_count(text(record.max_tres_pu), *gpu);
  if (is_set(record.priority)) qos.priority = record.priority;
  if (is_set(record.grace_time)) qos.grace = std::chrono::seconds(record.grace_time);
  qos.deny_on_limit = (record.flags & QOS_FLAG_DENY_LIMIT) != 0;
  qos.preempts = preempted(record, stored.names);
  return qos;
}

Result<void> read_rights(const Database& database, QosFacts& facts) {
  facts.user = user_name();
  slurmdb_user_cond_t condition{};
  slurmdb_assoc_cond_t who{};
  const std::vector<std::string> user_names = {facts.user};
  const auto names = list_of(user_names);
  who.user_list = names.get();
  condition.assoc_cond = &who;
  errno = 0;
  const SlurmList users(slurmdb_users_get(database.get(), &condition));
  if (!users) return failure(read_error());
  for_each<slurmdb_user_rec_t>(users.get(), [&](const slurmdb_user_rec_t& user) {
    if (text(user.name) == facts.user && user.admin_level == SLURMDB_ADMIN_SUPER_USER) facts.may_write = true;
  });
  return {};
}

}  // namespace

Result<std::optional<std::uint32_t>> gres_tres(const Database& database, const std::string& name) {
  slurmdb_tres_cond_t condition{};
  slurmdb_init_tres_cond(&condition, false);
  errno = 0;
  const SlurmList list(slurmdb_tres_get(database.get(), &condition));
  if (!list) return failure(read_error());
  std::optional<std::uint32_t> id;
  for_each<slurmdb_tres_rec_t>(list.get(), [&](const slurmdb_tres_rec_t& tres) {
    if (text(tres.type) == "gres" && text(tres.name) == name) id = tres.id;
  });
  return id;
}

Result<StoredQos> load_qos(const Database& database) {
  const auto gpu = gres_tres(database, "gpu");
  if (!gpu) return failure(gpu.error());
  slurmdb_qos_cond_t condition{};
  errno = 0;
  const SlurmList list(slurmdb_qos_get(database.get(), &condition));
  if (!list) return failure(read_error());
  StoredQos stored;
  for_each<slurmdb_qos_rec_t>(list.get(), [&](const auto& record) { stored.names[record.id] = text(record.name); });
  for_each<slurmdb_qos_rec_t>(list.get(),
                              [&](const auto& record) { stored.all.push_back(from_record(record, stored, *gpu)); });
  std::ranges::sort(stored.all, {}, &Qos::name);
  return stored;
}

Result<QosFacts> answer(const ReadQos&) {
  auto site = read_site();
  if (!site) return failure(site.error());
  QosFacts facts;
  facts.cluster = site->cluster;
  facts.partitions = site->partitions;
  facts.has_database = site->accounting_type == "accounting_storage/slurmdbd";
  facts.enforces_limits = (site->accounting_enforce & kEnforcesLimits) != 0;
  facts.enforces_qos = (site->accounting_enforce & kEnforcesQos) != 0;
  facts.preempts_by_qos = site->preempt_type == "preempt/qos";
  if (!facts.has_database) return facts;
  const Database database;
  const auto stored = load_qos(database);
  if (!stored) return failure(stored.error());
  facts.qos = stored->all;
  const auto gpu = gres_tres(database, "gpu");
  if (!gpu) return failure(gpu.error());
  facts.counts_gpus = *gpu && site->accounting_tres.find("gres/gpu") != std::string::npos;
  if (const auto rights = read_rights(database, facts); !rights) return failure(rights.error());
  facts.may_write = facts.may_write || ::geteuid() == 0 || ::geteuid() == site->slurm_user;
  return facts;
}

namespace {

std::uint32_t or_no_limit(const auto& limit) { return limit ? static_cast<std::uint32_t>(*limit) : INFINITE; }

// Ignores case, as the database does: "Lion" is "lion".
bool is_there(const StoredQos& stored, const std::string& name) {
  return std::ranges::any_of(stored.all,
                             [&](const Qos& one) { return ::strcasecmp(one.name.c_str(), name.c_str()) == 0; });
}

// Must not exist yet: slurmdb_qos_add would silently reset it (gotchas S18).
Result<void> make(Database& database, const std::string& name) {
  slurmdb_qos_rec_t record;
  slurmdb_init_qos_rec(&record, false, NO_VAL);
  record.name = const_cast<char*>(name.c_str());
  const SlurmList one(slurm_list_create(nullptr));
  slurm_list_append(one.get(), &record);
  errno = 0;
  if (slurmdb_qos_add(database.get(), one.get()) == SLURM_SUCCESS) return {};
  return failure(write_error());
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Changes "+7" and "-9", by id. Never the whole list, nor sacctmgr's empty text that clears it: that leaves a QoS 0
// in slurmdbd's memory, and each later change of preemption fails as a loop (gotchas S18).
std::vector<std::string> preempt_changes(const Qos& qos, const StoredQos& stored) {
  const Qos& now = *std::ranges::find(stored.all, qos.name, &Qos::name);
  std::vector<std::string> changes;
  for (const auto& [id, name] : stored.names)
    if (has(qos.preempts, name) != has(now.preempts, name))
      changes.push_back((has(qos.preempts, name) ? "+" : "-") + std::to_string(id));
  return changes;
}

Result<void> change(Database& database, const Qos& qos, const StoredQos& stored, std::optional<std::uint32_t> gpu) {
  slurmdb_qos_rec_t record;
  slurmdb_init_qos_rec(&record, false, NO_VAL);  // fields not set below stay unchanged
  record.max_wall_pj = qos.walltime ? static_cast<std::uint32_t>(qos.walltime->count()) : INFINITE;
  record.max_jobs_pu = or_no_limit(qos.running_jobs_per_user);
  record.max_submit_jobs_pu = or_no_limit(qos.submitted_jobs_per_user);
  record.priority = qos.priority;
  record.grace_time = static_cast<std::uint32_t>(qos.grace.count());
  const std::uint32_t flag = QOS_FLAG_DENY_LIMIT;
  compat::set_flags(record, flag | (qos.deny_on_limit ? QOS_FLAG_ADD : QOS_FLAG_REMOVE));
  std::string tres;
  if (gpu) tres = std::to_string(*gpu) + "=" + std::to_string(qos.gpus_per_user.value_or(INFINITE64));
  if (gpu) record.max_tres_pu = tres.data();
  const auto changes = preempt_changes(qos, stored);
  const std::vector<std::string> name = {qos.name};
  const auto preempted = list_of(changes), names = list_of(name);
  if (!changes.empty()) record.preempt_list = preempted.get();
  slurmdb_qos_cond_t condition{};
  condition.name_list = names.get();
  errno = 0;
  const SlurmList changed(slurmdb_qos_modify(database.get(), &condition, &record));
  if (changed) return {};
  return failure(write_error());
}

Result<void> make_missing(Database& database, const std::vector<Qos>& wanted, const StoredQos& stored) {
  for (const Qos& one : wanted) {
    if (is_there(stored, one.name)) continue;
    if (const auto made = make(database, one.name); !made) return made;
  }
  return database.commit();  // from here on the ids exist that `preempts` needs
}

Result<void> change_all(Database& database, const std::vector<Qos>& wanted) {
  const auto stored = load_qos(database);
  if (!stored) return failure(stored.error());
  const auto gpu = gres_tres(database, "gpu");
  if (!gpu) return failure(gpu.error());
  for (const Qos& one : wanted)
    if (const auto changed = change(database, one, *stored, *gpu); !changed) {
      static_cast<void>(database.commit(false));  // report the change's error even if the rollback fails
      return changed;
    }
  return database.commit();
}

}  // namespace

// Changes of existing QoS are committed all together or not at all.
Result<QosFacts> answer(const WriteQos& question) {
  const std::vector<Qos>& wanted = question.qos;
  Database database;
  const auto stored = load_qos(database);
  if (!stored) return failure(stored.error());
  if (const auto made = make_missing(database, wanted, *stored); !made) return failure(made.error());
  if (const auto changed = change_all(database, wanted); !changed) return failure(changed.error());
  auto facts = answer(ReadQos{});
  if (!facts) facts.error().code = ErrorCode::kOutcomeUnknown;  // the change is done: this must not look like a refusal
  return facts;
}

}  // namespace pounce::slurm
