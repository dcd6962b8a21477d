#include "worker/supervisor/device_partition.h"

#include <sched.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/join.h"

namespace pounce::worker {
namespace {

constexpr std::string_view kDeviceLists[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                             "ZE_AFFINITY_MASK",     "GPU_DEVICE_ORDINAL",   "SLURM_JOB_GPUS",
                                             "SLURM_STEP_GPUS"};

std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t at = 0; at < list.size();) {
    const auto comma = std::min(list.find(',', at), list.size());
    items.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return items;
}

}  // namespace

Environment device_partition(Environment environment, WorkerIndex worker, std::uint32_t workers) {
  for (auto& [name, value] : environment) {
    if (std::ranges::find(kDeviceLists, name) == std::end(kDeviceLists)) continue;
    const auto items = items_of(value);
    if (workers < 2 || items.size() % workers != 0) continue;
    const std::size_t each = items.size() / workers;
    value = joined(std::span(items).subspan(worker.value * each, each), ",");
  }
  return environment;
}

void take_cpu_partition(const Environment& environment, WorkerIndex worker, std::uint32_t workers) {
  cpu_set_t given, own;
  if (workers < 2 || ::sched_getaffinity(0, sizeof given, &given) != 0) return;
  const auto count = static_cast<std::uint32_t>(CPU_COUNT(&given));
  const auto granted = environment.find("SLURM_CPUS_ON_NODE");
  if (granted == environment.end() || granted->second != std::to_string(count) || count % workers != 0) return;
  CPU_ZERO(&own);
  const std::uint32_t each = count / workers;
  for (std::uint32_t cpu = 0, nth = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &given)) continue;
    if (nth / each == worker.value) CPU_SET(cpu, &own);
    ++nth;
  }
  ::sched_setaffinity(0, sizeof own, &own);
}

}  // namespace pounce::worker
