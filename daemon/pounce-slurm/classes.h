// SPDX-License-Identifier: GPL-3.0-or-later
// Accounts, QoS and their limits from slurmctld's own cache, and the service classes made of them. A look takes 1-2 ms,
// and slurmdbd is not involved (gotchas S7). Thread: main.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job.h"
#include "pounce-slurm/libslurm_values.h"
#include "pounce-slurm/slurm_compat.h"
#include "pounce/error.h"

namespace pounce::slurm {

// slurmctld's cache of accounts, QoS, their limits and what is used of them.
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

// The service classes, which are QoS here, as this user sees them: which there are, which are open to the user, and
// what they allow.
struct UserClass {
  ClassLimits limits;
  std::uint32_t id = 0;               // the QoS's
  bool open = false;                  // this user may submit to it
  std::optional<std::uint64_t> gpus;  // the most that one job can get
};

struct Classes {
  std::vector<UserClass> all;         // sorted by name; empty if Slurm keeps no accounts
  std::string default_class;          // of this user; may be empty
  std::vector<std::string> accounts;  // of this user
};

Result<Classes> load_classes();
Result<Classes> recent_classes();  // at most 30 s old: one reading serves a burst of submits
Classes classes_in(const assoc_mgr_info_msg_t& message, const std::string& user);  // `message` was loaded for that user
std::string user_name();
// "long, short": the open classes, or all if none is open.
std::string class_names(const Classes& classes);

// Checks before the submit, since Slurm lets a job over its class's limits wait for ever (gotchas S7) and, if it
// enforces no QoS, ignores an unknown one. Refuses only what waiting cannot change; Slurm decides the rest.
Result<void> check_limits(const JobSpec& spec);

std::string qos_of(const JobSpec& spec);
const UserClass* find(const Classes& classes, const std::string& qos);  // empty: the default class
std::string class_words(const JobSpec& spec);                           // "class 'fast' (QoS 'f1')"
std::string request_words(const Resources& resources);                  // "1 GPU of type a100, 30 minutes"

}  // namespace pounce::slurm
