// SPDX-License-Identifier: GPL-3.0-or-later
// libslurm's C values: texts that may be null, numbers that may be unset, lists, messages that have to be freed.
// Thread: main.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "slurm_compat.h"

namespace pounce::slurm {

inline std::string text(const char* maybe) { return maybe != nullptr ? maybe : ""; }

inline bool is_set(std::uint32_t value) { return value != NO_VAL && value != INFINITE; }
inline bool is_set(std::uint64_t value) { return value != NO_VAL64 && value != INFINITE64; }

template <class Record, class List, class Visit>
void for_each(List list, Visit visit) {
  if (list == nullptr) return;
  auto* iterator = slurm_list_iterator_create(list);
  while (auto* record = static_cast<Record*>(slurm_list_next(iterator))) visit(*record);
  slurm_list_iterator_destroy(iterator);
}

struct FreeJobs {
  void operator()(job_info_msg_t* message) const { slurm_free_job_info_msg(message); }
};
using Jobs = std::unique_ptr<job_info_msg_t, FreeJobs>;

}  // namespace pounce::slurm
