#include "worker/supervisor/leased_gpus.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string_view>

#include "base/text.h"
#include "device/devices.h"

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

namespace {

constexpr std::string_view kVariable = "CUDA_VISIBLE_DEVICES";
constexpr std::string_view kSliceMark = " MIG ";  // "NVIDIA A100-SXM4-80GB MIG 3g.40gb"
constexpr std::uint64_t kMiB = 1024 * 1024;

using Numbers = std::vector<unsigned>;

std::string setting(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

// "0,2"; nullopt: the text is not a list of numbers.
std::optional<Numbers> numbers_of(std::string_view list) {
  Numbers numbers;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    const std::string_view word = list.substr(0, comma);
    unsigned number = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
    if (read.ec != std::errc() || read.ptr != word.data() + word.size()) return std::nullopt;
    numbers.push_back(number);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return numbers.empty() ? std::nullopt : std::optional(numbers);
}

bool all_of(const Numbers& some, const Numbers& others) {
  return std::ranges::all_of(some, [&](unsigned one) { return std::ranges::find(others, one) != others.end(); });
}

std::string slice_of(const std::string& model) {
  const auto at = model.find(kSliceMark);
  return at == std::string::npos ? std::string() : model.substr(at + kSliceMark.size());
}

}  // namespace

Result<void> within_slurms(const Environment& environment, bool on_batch_host) {
  const std::string step = setting(environment, "SLURM_STEP_GPUS"),
                    job = on_batch_host ? setting(environment, "SLURM_JOB_GPUS") : "";
  const std::string visible = setting(environment, std::string(kVariable));
  const auto given = numbers_of(step.empty() ? job : step), seen = numbers_of(visible);
  if (!given || !seen) return {};
  Numbers counted(given->size());
  for (unsigned i = 0; i < counted.size(); ++i) counted[i] = i;
  if (std::set(seen->begin(), seen->end()).size() <= given->size() && (all_of(*seen, *given) || all_of(*seen, counted)))
    return {};
  return failure(Error{ErrorCode::kDeviceUnavailable,
                       "the GPUs that this worker sees (" + visible + ") are not those that Slurm gave to its job (" +
                           (step.empty() ? job : step) + ")",
                       "Show the admin this node: something that runs before the job changes CUDA_VISIBLE_DEVICES.",
                       {{"visible", visible}}});
}

std::optional<VisibleGpus> visible_to(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
  if (!file) return std::nullopt;
  for (std::string entry; std::getline(file, entry, '\0');)
    if (entry.starts_with(kVariable) && entry.size() > kVariable.size() && entry[kVariable.size()] == '=')
      return VisibleGpus{entry.substr(kVariable.size() + 1)};
  return VisibleGpus{};
}

Result<void> same_gpus(const std::optional<device::GpuMeter::Uuids>& uuids, bool listed) {
  if (!uuids) return {};
  const auto nameless = [](const std::string& uuid) { return uuid.empty(); };
  const auto slice = [](const std::string& uuid) { return uuid.starts_with("MIG-"); };
  if (std::ranges::any_of(uuids->own, nameless) || std::ranges::any_of(uuids->queried, nameless)) return {};
  if (!listed && std::ranges::any_of(uuids->own, slice)) return {};  // a list of all GPUs names no slices
  return device::only_leased(uuids->queried, uuids->own);
}

std::vector<model::GpuRow> gpu_rows(const std::vector<device::DeviceFacts>& facts,
                                    const std::vector<device::GpuFailure>& failures) {
  std::vector<model::GpuRow> rows;
  for (const device::DeviceFacts& of : facts) {
    model::GpuRow& row = rows.emplace_back();
    row.uuid = of.uuid;
    row.model = of.model;
    row.slice = slice_of(of.model);
    row.driver = of.driver;
    row.memory_mib = of.memory.total_bytes / kMiB;
    if (of.numa_node) row.numa_node = static_cast<std::int32_t>(*of.numa_node);
    row.nvlink = of.nvlink_peers;
    if (of.uncorrected_errors) row.uncorrected_errors = static_cast<std::int64_t>(*of.uncorrected_errors);
    const auto failed = std::ranges::find(failures, of.uuid, &device::GpuFailure::uuid);
    if (failed != failures.end()) row.failed = failed->error.text;
  }
  return rows;
}

}  // namespace pounce::worker
