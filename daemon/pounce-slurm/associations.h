// SPDX-License-Identifier: GPL-3.0-or-later
// slurmctld's own cache of accounts, QoS, their limits and what is used of them: 1-2 ms, no slurmdbd is asked
// (gotchas S7). Thread: main.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pounce/result.h"
#include "slurm_compat.h"

namespace pounce::slurm {

struct FreeAssociations {
  void operator()(assoc_mgr_info_msg_t* message) const { slurm_free_assoc_mgr_info_msg(message); }
};
using Associations = std::unique_ptr<assoc_mgr_info_msg_t, FreeAssociations>;

// All QoS, and of the associations (a large site has thousands) only this user's, or only this account's.
Result<Associations> load_associations_of_user(const std::string& user);
Result<Associations> load_associations_of_account(const std::string& account);

template <class Record, class List, class Visit>
void for_each(List list, Visit visit) {
  if (list == nullptr) return;
  auto* iterator = slurm_list_iterator_create(list);
  while (auto* record = static_cast<Record*>(slurm_list_next(iterator))) visit(*record);
  slurm_list_iterator_destroy(iterator);
}

inline bool is_set(std::uint32_t value) { return value != NO_VAL && value != INFINITE; }
inline bool is_set(std::uint64_t value) { return value != NO_VAL64 && value != INFINITE64; }

}  // namespace pounce::slurm
