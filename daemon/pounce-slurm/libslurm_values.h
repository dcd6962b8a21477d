// SPDX-License-Identifier: GPL-3.0-or-later
// libslurm's C values and error numbers as ours. Thread: main.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "pounce-slurm/slurm_compat.h"
#include "pounce/error.h"

namespace pounce::slurm {

// Texts that may be null, numbers that may be unset, lists.
inline std::string text(const char* maybe) { return maybe != nullptr ? maybe : ""; }

inline bool is_set(std::uint32_t value) { return value != NO_VAL && value != INFINITE; }
inline bool is_set(std::uint64_t value) { return value != NO_VAL64 && value != INFINITE64; }

inline std::int64_t time_or_zero(time_t stamp) { return stamp == static_cast<time_t>(NO_VAL) ? 0 : stamp; }

template <class Record, class List, class Visit>
void for_each(List list, Visit visit) {
  if (list == nullptr) return;
  auto* iterator = slurm_list_iterator_create(list);
  while (auto* record = static_cast<Record*>(slurm_list_next(iterator))) visit(*record);
  slurm_list_iterator_destroy(iterator);
}

inline std::vector<std::string> words_of(const std::string& list) {  // splits at commas
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// libslurm's error numbers: one table with a default branch (gotchas S5).
enum class Doing { kReading, kSubmitting, kCancelling };

// 0 is fine; else the code is rc when positive, errno when not (gotchas S5).
int slurm_code(int rc);
Error slurm_error(int code, Doing doing);

}  // namespace pounce::slurm
