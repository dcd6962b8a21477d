// SPDX-License-Identifier: GPL-3.0-or-later
// slurmctld's own cache of accounts, QoS, their limits and what is used of them: 1-2 ms, no slurmdbd is asked
// (gotchas S7). Thread: main.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pounce/result.h"
#include "values.h"

namespace pounce::slurm {

struct FreeAssociations {
  void operator()(assoc_mgr_info_msg_t* message) const { slurm_free_assoc_mgr_info_msg(message); }
};
using Associations = std::unique_ptr<assoc_mgr_info_msg_t, FreeAssociations>;

// All QoS, and of the associations (a large site has thousands) only this user's, or only this account's.
Result<Associations> load_associations_of_user(const std::string& user);
Result<Associations> load_associations_of_account(const std::string& account);

struct UserAccount {
  std::string name;
  bool preset = false;            // taken where none is named
  std::uint32_t preset_qos = 0;   // where no class is named
  std::set<std::uint32_t> qos{};  // ids of those open in it
};
std::vector<UserAccount> accounts_in(const assoc_mgr_info_msg_t& message, const std::string& user);
Result<std::vector<UserAccount>> load_accounts_of_user(const std::string& user);

// The place of this TRES ("gres/gpu") in the arrays of limits and of use; tres_cnt where nobody counts it.
std::uint32_t place_of(const assoc_mgr_info_msg_t& message, const std::string& tres);
// What this user uses of the QoS; nullptr: nothing yet.
const slurmdb_used_limits_t* used_by_us(const slurmdb_qos_rec_t& qos);

}  // namespace pounce::slurm
