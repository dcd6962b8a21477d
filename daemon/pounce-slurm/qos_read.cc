// SPDX-License-Identifier: GPL-3.0-or-later
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

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

}  // namespace pounce::slurm
