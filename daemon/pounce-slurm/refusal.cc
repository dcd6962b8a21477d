// SPDX-License-Identifier: GPL-3.0-or-later
// What stands behind a refusal: the partition, the account, the class, the limit.

#include "pounce-slurm/refusal.h"

#include <strings.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/text.h"
#include "job/slurm_reason.h"
#include "messages/waiting_words.h"
#include "pounce-slurm/classes.h"
#include "pounce-slurm/libslurm_values.h"
#include "pounce-slurm/nodes.h"
#include "pounce-slurm/wait_details.h"

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
  PartitionRequest request{spec.partition.empty() ? default_partition : spec.partition, qos_of(spec), class_words(spec),
                           account_of(spec), 0};
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
  const auto found = std::ranges::find(known.all, spec.partition.empty() ? known.default_partition : spec.partition,
                                       &PartitionRules::name);
  return found == known.all.end() ? "" : found->own_qos;
}

std::optional<Error> refusal_by_partition(Refused about, const JobSpec& spec) {
  const Known known = known_partitions();
  return partition_refusal(about, known.all, partition_request_of(spec, known.default_partition));
}

namespace {

// Reports Slurm's own words if the code's usual cause does not apply: a site's rule (job_submit.lua) may refuse with
// any code.
Error as_slurm_says(int code, Error error) {
  error.code = ErrorCode::kRejected;
  error.text = std::string("Slurm refused: ") + slurm_strerror(code);
  return error;
}

struct FreeReservations {
  void operator()(reserve_info_msg_t* message) const { slurm_free_reservation_info_msg(message); }
};

std::string names_of(const std::vector<UserAccount>& accounts) { return joined(accounts, ", ", &UserAccount::name); }

Error of_account(Error error, const JobSpec& spec) {
  const auto accounts = load_accounts_of_user(user_name());
  const std::string user = "user " + user_name(), &account = spec.resources.account;
  if (!accounts || accounts->empty()) {
    error.text = user + ": " + error.text;
    return error;
  }
  if (std::ranges::count(*accounts, account_of(spec), &UserAccount::name) > 0)
    return as_slurm_says(ESLURM_INVALID_ACCOUNT, std::move(error));
  error.text = user + (account.empty() ? " has no default account" : " has no account '" + account + "'") +
               "; the accounts are " + names_of(*accounts);
  error.remedy = "Name one of them: account=" + (accounts->front().name) + ", or --account in a cell.";
  return error;
}

// The accounts in which the QoS is open.
std::string accounts_with(std::uint32_t qos, const std::vector<UserAccount>& accounts) {
  std::vector<std::string> names;
  for (const UserAccount& one : accounts)
    if (one.qos.contains(qos)) names.push_back(one.name);
  return joined(names);
}

bool is_open_in(std::uint32_t qos, const std::string& account, const std::vector<UserAccount>& accounts) {
  return std::ranges::any_of(accounts,
                             [&](const UserAccount& one) { return one.name == account && one.qos.contains(qos); });
}

Error of_class(Error error, const JobSpec& spec) {
  const auto classes = load_classes();  // the newest, since the user will act on it
  if (!classes) return error;
  const std::string name = class_words(spec);
  const UserClass* found = find(*classes, qos_of(spec));
  const auto accounts = load_accounts_of_user(user_name());
  if (found != nullptr && accounts && is_open_in(found->id, account_of(spec), *accounts))
    return as_slurm_says(ESLURM_INVALID_QOS, std::move(error));
  if (found == nullptr)
    error.text = "there is no " + name;
  else if (const std::string where = accounts ? accounts_with(found->id, *accounts) : ""; found->open && !where.empty())
    return {error.code, name + " is not open in the account of this job; it is in: " + where,
            "Name one of these accounts: account=, or --account in a cell.", error.context};
  else
    error.text = name + " is not open to user " + user_name();
  error.text += "; the classes are " + class_names(*classes);
  return error;
}

Error of_reservation(Error error, const JobSpec& spec) {
  reserve_info_msg_t* raw = nullptr;
  if (slurm_code(slurm_load_reservations(0, &raw)) != 0) return error;
  const std::unique_ptr<reserve_info_msg_t, FreeReservations> message(raw);
  const std::string names = joined(std::span(message->reservation_array, message->record_count), ", ",
                                   [](const reserve_info_t& one) { return text(one.name); });
  error.text = "reservation '" + spec.resources.reservation + "': " + error.text;
  error.text += names.empty() ? "; there is none now" : "; the reservations are " + names;
  error.remedy = names.empty() ? "Leave the reservation out." : "Name one that is open to you, or none.";
  return error;
}

struct FreeLicenses {
  void operator()(license_info_msg_t* message) const { slurm_free_license_info_msg(message); }
};

Error of_licenses(Error error, const JobSpec& spec) {
  license_info_msg_t* raw = nullptr;
  if (slurm_code(slurm_load_licenses(0, &raw, 0)) != 0) return error;
  const std::unique_ptr<license_info_msg_t, FreeLicenses> message(raw);
  const std::string names =
      joined(std::span(message->lic_array, message->num_lic), ", ",
             [](const slurm_license_info_t& one) { return text(one.name) + ":" + std::to_string(one.total); });
  const auto licenses = spec.resources.slurm.find("licenses");
  if (licenses != spec.resources.slurm.end()) error.text += " (" + licenses->second + ")";
  error.text += names.empty() ? "; the cluster has none" : "; the cluster has " + names;
  error.remedy = "Ask for no more than there are, or for none.";
  return error;
}

std::string default_account(const assoc_mgr_info_msg_t& message) {
  for (const UserAccount& one : accounts_in(message, user_name()))
    if (one.is_default) return one.name;
  return {};
}

// Finds the limit that refuses a job now but would accept it later. Slurm names it on standard error only.
Error of_limit(Error error, const JobSpec& spec) {
  const auto known = load_associations_of_user(user_name());
  if (!known) return error;
  JobRequest request{qos_of(spec), spec.resources.account, {}, 0};
  if (request.class_name.empty()) request.class_name = classes_in(**known, user_name()).default_class;
  if (request.account.empty()) request.account = default_account(**known);
  const std::string& name = spec.resources.class_name.empty() ? request.class_name : spec.resources.class_name;
  for (const char* word : {"QOSMaxSubmitJobPerUserLimit", "QOSGrpSubmitJobsLimit", "MaxSubmitJobsPerAccount",
                           "AssocMaxSubmitJobLimit", "AssocGrpSubmitJobsLimit"}) {
    const LimitUse use = limit_use(**known, *job::limit_of(word), request);
    if (use.what.empty()) continue;
    error.text = messages::waiting_words({word, word, name, use});
    error.remedy = "Wait until a job has ended, or cancel one of yours.";
    return error;
  }
  return error;
}

std::optional<Error> of_partition(const Error& error, int slurm_code, const JobSpec& spec) {
  constexpr std::pair<int, Refused> kAbout[] = {{ESLURM_INVALID_QOS, Refused::kQos},
                                                {ESLURM_INVALID_ACCOUNT, Refused::kAccount},
                                                {ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP, Refused::kGroup},
                                                {ESLURM_INVALID_TIME_LIMIT, Refused::kTime},
                                                {ESLURM_INVALID_PARTITION_NAME, Refused::kName}};
  for (const auto& [code, about] : kAbout) {
    if (code != slurm_code) continue;
    auto refusal = refusal_by_partition(about, spec);
    if (refusal) refusal->context = error.context;
    return refusal;
  }
  return std::nullopt;
}

bool is_about_reservation(int slurm_code) {
  return slurm_code == ESLURM_RESERVATION_ACCESS || slurm_code == ESLURM_RESERVATION_INVALID ||
         slurm_code == ESLURM_RESERVATION_NOT_USABLE;
}

}  // namespace

Error explained(Error error, int slurm_code, const JobSpec& spec) {
  if (auto refusal = of_partition(error, slurm_code, spec)) return *std::move(refusal);
  if (error.code == ErrorCode::kNoAssociation) return of_account(std::move(error), spec);
  if (error.code == ErrorCode::kUnknownClass) return of_class(std::move(error), spec);
  if (error.code == ErrorCode::kUnsatisfiable) error.text += "; asked for: " + request_words(spec.resources);
  if (slurm_code == ESLURM_ACCOUNTING_POLICY) return of_limit(std::move(error), spec);
  if (slurm_code == ESLURM_INVALID_LICENSES) return of_licenses(std::move(error), spec);
  if (is_about_reservation(slurm_code)) return of_reservation(std::move(error), spec);
  return error;
}

namespace {

// Compares names without case, as slurmctld does.
bool same(const std::string& one, const std::string& other) { return ::strcasecmp(one.c_str(), other.c_str()) == 0; }

bool exists(const std::string& account) {
  const auto known = load_associations_of_account(account);
  bool found = !known;  // slurmctld did not answer: leave it to the submit
  if (known)
    for_each<slurmdb_assoc_rec_t>(
        (*known)->assoc_list, [&](const slurmdb_assoc_rec_t& one) { found = found || same(text(one.acct), account); });
  return found;
}

bool has(const Classes& classes, const std::string& account) {
  return std::ranges::any_of(classes.accounts, [&](const std::string& own) { return same(own, account); });
}

}  // namespace

Result<void> check_account(const JobSpec& spec) {
  const std::string& account = spec.resources.account;
  if (account.empty()) return {};
  const auto recent = recent_classes();
  if (!recent || recent->all.empty() || has(*recent, account)) return {};
  const auto newest = load_classes();  // an admin may have added it just now
  if (!newest || has(*newest, account)) return {};
  if (newest->accounts.empty() && exists(account)) return {};
  return failure(
      explained({ErrorCode::kNoAssociation, "Slurm's accounting has no account '" + account + "'", {}, {}}, 0, spec));
}

}  // namespace pounce::slurm
