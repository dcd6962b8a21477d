// SPDX-License-Identifier: GPL-3.0-or-later
// slurmctld's cache of accounts, QoS, their limits and their use: takes 1-2 ms and no query to slurmdbd (gotchas S7).
// Thread: main.
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

// Load all QoS, but only the associations of this user or account: a large site has thousands.
Result<Associations> load_associations_of_user(const std::string& user);
Result<Associations> load_associations_of_account(const std::string& account);

struct UserAccount {
  std::string name;
  bool is_default = false;        // taken if a job names no account
  std::uint32_t default_qos = 0;  // taken if a job names no class
  std::set<std::uint32_t> qos{};  // ids of the QoS open in it
};
std::vector<UserAccount> accounts_in(const assoc_mgr_info_msg_t& message, const std::string& user);
Result<std::vector<UserAccount>> load_accounts_of_user(const std::string& user);

// The index of this TRES ("gres/gpu") in the arrays of limits and of use; tres_cnt if Slurm does not count it.
std::uint32_t place_of(const assoc_mgr_info_msg_t& message, const std::string& tres);
// This user's use of the QoS; nullptr: none yet.
const slurmdb_used_limits_t* used_by_us(const slurmdb_qos_rec_t& qos);

}  // namespace pounce::slurm
