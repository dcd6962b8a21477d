// SPDX-License-Identifier: GPL-3.0-or-later
#include "partitions.h"

#include <algorithm>

#include "associations.h"
#include "nodes.h"
#include "open_classes.h"
#include "values.h"

namespace pounce::slurm {
namespace {

PartitionRules rules_of(const partition_info_t& one) {
  PartitionRules rules{text(one.name)};
  rules.qos = words_of(text(one.allow_qos));
  rules.not_qos = words_of(text(one.deny_qos));
  rules.accounts = words_of(text(one.allow_accounts));
  rules.not_accounts = words_of(text(one.deny_accounts));
  rules.groups = words_of(text(one.allow_groups));
  rules.most_minutes = is_set(one.max_time) ? one.max_time : 0;
  rules.own_qos = text(one.qos_char);
  return rules;
}

struct Known {
  std::vector<PartitionRules> all;
  std::string default_partition;  // taken if a job names none
};

Known known_partitions() {
  const auto message = load_partitions(SHOW_ALL);
  if (!message) return {};
  Known known;
  for (const partition_info_t& one : partitions_in(*message)) {
    known.all.push_back(rules_of(one));
    if ((one.flags & PART_FLAG_DEFAULT) != 0) known.default_partition = text(one.name);
  }
  return known;
}

PartitionRequest partition_request_of(const JobSpec& spec, const std::string& default_partition) {
  PartitionRequest request{spec.partition.empty() ? default_partition : spec.partition, qos_of(spec), class_words(spec), account_of(spec), 0};
  if (request.qos.empty())
    if (const auto classes = load_classes()) {
      request.qos = classes->default_class;
      request.class_words = "class '" + request.qos + "'";
    }
  if (spec.resources.time.count() > 0) request.minutes = static_cast<std::uint32_t>(spec.resources.time.count());
  return request;
}

}  // namespace

std::string account_of(const JobSpec& spec) {
  if (!spec.resources.account.empty()) return spec.resources.account;
  if (const auto accounts = load_accounts_of_user(user_name()))
    for (const UserAccount& one : *accounts)
      if (one.is_default) return one.name;
  return {};
}

std::string qos_of_partition(const JobSpec& spec) {
  const Known known = known_partitions();
  const auto found = std::ranges::find(known.all, spec.partition.empty() ? known.default_partition : spec.partition, &PartitionRules::name);
  return found == known.all.end() ? "" : found->own_qos;
}

std::optional<Error> refusal_by_partition(Refused about, const JobSpec& spec) {
  const Known known = known_partitions();
  return partition_refusal(about, known.all, partition_request_of(spec, known.default_partition));
}

}  // namespace pounce::slurm
