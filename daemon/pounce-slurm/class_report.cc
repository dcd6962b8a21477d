// SPDX-License-Identifier: GPL-3.0-or-later
#include "class_report.h"

#include <algorithm>
#include <string>

#include "associations.h"
#include "classes.h"
#include "gpus.h"

namespace pounce::slurm {
namespace {

template <class Number>
std::int64_t or_none(Number value) {
  return is_set(value) ? static_cast<std::int64_t>(value) : -1;
}

std::int64_t limit_at(const std::uint64_t* limits, std::uint32_t place, std::uint32_t count) {
  return limits == nullptr || place == count ? -1 : or_none(limits[place]);
}

ClassUse use_of(const assoc_mgr_info_msg_t& message, const slurmdb_qos_rec_t& qos) {
  const std::uint32_t gpus = place_of(message, "gres/gpu"), count = message.tres_cnt;
  ClassUse use;
  use.name = text(qos.name);
  use.time_min = or_none(qos.max_wall_pj);
  use.jobs_most = or_none(qos.max_jobs_pu);
  use.submits_most = or_none(qos.max_submit_jobs_pu);
  use.gpus_most = limit_at(qos.max_tres_pu_ctld, gpus, count);
  use.gpus_job = limit_at(qos.max_tres_pj_ctld, gpus, count);
  if (const auto* ours = used_by_us(qos)) {
    use.jobs_used = ours->jobs;
    use.submits_used = ours->submit_jobs;
    if (ours->tres != nullptr && gpus < count) use.gpus_used = static_cast<std::int64_t>(ours->tres[gpus]);
  }
  return use;
}

}  // namespace

Result<ClassReport> class_report() {
  const std::string user = user_name();
  const auto message = load_associations_of_user(user);
  if (!message) return failure(message.error());
  const Classes classes = classes_in(**message, user);
  const auto gpus = gpus_of_cluster();
  if (!gpus) return failure(gpus.error());
  ClassReport report{{}, *gpus};
  for_each<slurmdb_qos_rec_t>((*message)->qos_list, [&](const slurmdb_qos_rec_t& qos) {
    const auto known = std::ranges::find(classes.all, text(qos.name), [](const UserClass& one) { return one.limits.name; });
    if (known == classes.all.end() || !known->open) return;
    report.classes.push_back(use_of(**message, qos));
    report.classes.back().preset = report.classes.back().name == classes.default_class;
  });
  std::ranges::sort(report.classes, {}, &ClassUse::name);
  return report;
}

}  // namespace pounce::slurm
