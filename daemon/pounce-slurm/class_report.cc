// SPDX-License-Identifier: GPL-3.0-or-later
#include "class_report.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "associations.h"
#include "classes.h"
#include "slurm/gres.h"
#include "slurm_error.h"

namespace pounce::slurm {
namespace {

struct FreeNodes {
  void operator()(node_info_msg_t* message) const { slurm_free_node_info_msg(message); }
};

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

// Nothing new starts on the others, whatever is free there.
bool takes_work(std::uint32_t state) {
  constexpr std::uint32_t kNot = NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND | NODE_STATE_MAINT;
  const std::uint32_t base = state & NODE_STATE_BASE;
  return (state & kNot) == 0 && (base == NODE_STATE_IDLE || base == NODE_STATE_ALLOCATED || base == NODE_STATE_MIXED);
}

void add_node(const node_info_t& node, std::map<std::string, GpuUse>& gpus) {
  const auto used = gpus_of(text(node.gres_used));
  for (const auto& [type, count] : gpus_of(text(node.gres))) {
    GpuUse& use = gpus[type];
    use.type = type;
    use.total += count;
    const auto taken = used.find(type);
    if (takes_work(node.node_state)) use.free += count - std::min(count, taken == used.end() ? 0 : taken->second);
  }
}

Result<std::vector<GpuUse>> gpus_of_cluster() {
  node_info_msg_t* raw = nullptr;
  if (const int code = slurm_code(slurm_load_node(0, &raw, SHOW_DETAIL)); code != 0)
    return failure(slurm_error(code, Doing::kReading));
  const std::unique_ptr<node_info_msg_t, FreeNodes> message(raw);
  std::map<std::string, GpuUse> by_type;
  for (std::uint32_t i = 0; i < message->record_count; ++i) add_node(message->node_array[i], by_type);
  std::vector<GpuUse> gpus;
  for (const auto& [type, use] : by_type) gpus.push_back(use);
  return gpus;
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
