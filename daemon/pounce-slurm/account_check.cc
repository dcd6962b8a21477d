// SPDX-License-Identifier: GPL-3.0-or-later
#include "account_check.h"

#include <strings.h>

#include <algorithm>
#include <string>

#include "associations.h"
#include "open_classes.h"
#include "refusal.h"

namespace pounce::slurm {
namespace {

// Compares names without case, as slurmctld does.
bool same(const std::string& one, const std::string& other) { return ::strcasecmp(one.c_str(), other.c_str()) == 0; }

bool exists(const std::string& account) {
  const auto known = load_associations_of_account(account);
  bool found = !known;  // slurmctld did not answer: leave it to the submit
  if (known)
    for_each<slurmdb_assoc_rec_t>((*known)->assoc_list,
                                  [&](const slurmdb_assoc_rec_t& one) { found = found || same(text(one.acct), account); });
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
  return failure(explained({ErrorCode::kNoAssociation, "Slurm's accounting has no account '" + account + "'", {}, {}}, spec));
}

}  // namespace pounce::slurm
