// SPDX-License-Identifier: GPL-3.0-or-later
#include "jobs.h"

#include <malloc.h>
#include <pwd.h>

#include <algorithm>

#include "slurm/gres.h"
#include "slurm_error.h"

namespace pounce::slurm {

void FreeJobs::operator()(job_info_msg_t* message) const {
  constexpr std::uint32_t kMany = 1000;
  [[maybe_unused]] const bool many = message->record_count > kMany;
  slurm_free_job_info_msg(message);
#ifdef __GLIBC__
  if (many) ::malloc_trim(0);
#endif
}

Result<Jobs> load_all_jobs(std::uint16_t flags) {
  job_info_msg_t* raw = nullptr;
  if (const int code = slurm_code(slurm_load_jobs(0, &raw, SHOW_LOCAL | SHOW_ALL | flags)); code != 0)
    return failure(slurm_error(code, Doing::kReading));
  return Jobs(raw);
}

// Slurm leaves out the user name of some jobs. A site's user directory may be slow, so it is queried once per user.
std::string user_of(const slurm_job_info_t& job) {
  if (job.user_name != nullptr) return job.user_name;
  static std::map<uid_t, std::string> names;
  const auto [known, is_new] = names.try_emplace(job.user_id);
  if (is_new) {
    const passwd* entry = ::getpwuid(job.user_id);
    known->second = entry != nullptr ? entry->pw_name : std::to_string(job.user_id);
  }
  return known->second;
}

std::map<std::string, std::uint32_t> gpus_asked(std::string tres) {
  for (const std::string_view front : {"gres:", "gres/"})
    for (auto at = tres.find(front); at != std::string::npos; at = tres.find(front)) tres.erase(at, front.size());
  std::ranges::replace(tres, ';', ',');
  std::ranges::replace(tres, '=', ':');
  return gpus_of(tres);
}

}  // namespace pounce::slurm
