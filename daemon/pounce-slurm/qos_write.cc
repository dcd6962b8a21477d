// SPDX-License-Identifier: GPL-3.0-or-later
#include <strings.h>

#include <algorithm>
#include <cerrno>

#include "pounce-slurm/database.h"
#include "slurm/questions.h"

namespace pounce::slurm {
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
