// SPDX-License-Identifier: GPL-3.0-or-later
// What this site's accounting records and shows to the caller, and when its nodes took no work. Thread: main.
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <vector>

#include "model/accounting.h"
#include "pounce-slurm/classes.h"
#include "pounce-slurm/database.h"
#include "pounce-slurm/facts.h"
#include "pounce-slurm/nodes.h"
#include "slurm/questions.h"

namespace pounce::slurm {
namespace {

// slurmdbd.conf has a PrivateData of its own, and that one decides what accounting shows.
Result<bool> database_hides_jobs(const Database& database) {
  errno = 0;
  const SlurmList pairs(compat::database_settings(database.get()));
  if (!pairs) return failure(read_error());
  bool hides = false;
  for_each<compat::Setting>(pairs.get(), [&](const compat::Setting& one) {
    if (text(one.name) != "PrivateData") return;
    for (const std::string& word : words_of(text(one.value))) hides = hides || word == "jobs";
  });
  return hides;
}

// Users are hidden from others than operators by other words of PrivateData, so no record means no right.
bool is_operator(const Database& database, const std::string& name) {
  slurmdb_user_cond_t condition{};
  slurmdb_assoc_cond_t who{};
  const std::vector<std::string> names = {name};
  const auto list = list_of(names);
  who.user_list = list.get();
  condition.assoc_cond = &who;
  const SlurmList users(slurmdb_users_get(database.get(), &condition));
  bool operates = false;
  for_each<slurmdb_user_rec_t>(users.get(), [&](const slurmdb_user_rec_t& user) {
    operates = operates || (text(user.name) == name && user.admin_level >= SLURMDB_ADMIN_OPERATOR);
  });
  return operates;
}

std::map<std::string, std::string> models_of_nodes() {
  std::map<std::string, std::string> models;
  const auto nodes = load_nodes(0);
  if (!nodes) return models;
  for (const node_info_t& node : nodes_in(*nodes)) {
    const auto gpus = gpus_of_node(node);
    if (node.name != nullptr && gpus.size() == 1 && !gpus.front().type.empty()) models[node.name] = gpus.front().type;
  }
  return models;
}

}  // namespace

Result<AccountingFacts> answer(const AskAccounting&) {
  const auto site = read_site();
  if (!site) return failure(site.error());
  AccountingFacts facts;
  facts.cluster = site->cluster;
  facts.now_s = std::time(nullptr);
  facts.node_gpus = models_of_nodes();
  facts.has_database = site->accounting_type == "accounting_storage/slurmdbd";
  facts.counts_gpus = site->accounting_tres.find("gres/gpu") != std::string::npos;
  if (!facts.has_database) return facts;
  const Database database;
  const auto gpu_use = gres_tres(database, "gpuutil");
  if (!gpu_use) return failure(gpu_use.error());
  facts.counts_gpu_use = gpu_use->has_value();
  const auto hides = database_hides_jobs(database);
  if (!hides) return failure(hides.error());
  facts.sees_all = ::geteuid() == 0 || ::geteuid() == site->slurm_user || is_operator(database, user_name());
  facts.hides_others = *hides && !facts.sees_all;
  return facts;
}

Result<std::vector<NodeEvent>> answer(const AskNodeEvents& question) {
  const auto site = read_site();
  if (!site) return failure(site.error());
  const Database database;
  const std::vector<std::string> clusters = {site->cluster};
  const auto only = list_of(clusters);
  slurmdb_event_cond_t condition{};
  condition.cluster_list = only.get();
  condition.event_type = SLURMDB_EVENT_NODE;
  condition.period_start = question.from_s;
  condition.period_end = question.to_s;
  errno = 0;
  const SlurmList records(slurmdb_events_get(database.get(), &condition));
  if (!records) return failure(read_error());
  std::vector<NodeEvent> events;
  for_each<slurmdb_event_rec_t>(records.get(), [&](const slurmdb_event_rec_t& event) {
    events.push_back({text(event.node_name), text(event.reason), time_or_zero(event.period_start),
                      time_or_zero(event.period_end), (event.state & NODE_STATE_BASE) == NODE_STATE_DOWN});
  });
  return events;
}

}  // namespace pounce::slurm
