// What is known of a worker, told by its interpreter and its supervisor: what would be lost with it, its job so far,
// its GPUs and their nodes. The status document shows the same values. Values only. Thread: any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "pounce/fields.h"

namespace pounce {

// What would be lost if an interpreter ended now: told by it, passed on by its supervisor, weighed by the lease core.

// The state of the variables that its tasks left. kSaved: nothing would be lost (also if there are none). kSaving:
// they are being written. kUnsaved: one cannot be saved (an open connection, a running thread). kStepping: a running
// loop can be left between two of its steps; then they are saved. kKept: what runs goes on without its client.
enum class NamespaceState : std::uint8_t { kSaved, kSaving, kUnsaved, kStepping, kKept };
// An unknown word of a later version reads as kUnsaved: it does not promise that nothing would be lost.
constexpr auto words(NamespaceState) {
  return words_of<NamespaceState>({"saved", "saving", "unsaved", "stepping", "kept"}, NamespaceState::kUnsaved);
}

// What its supervisor knows of an interpreter that has ended, from the page of memory that the two shared.
struct EndedInterpreter {
  std::string key{};                             // of its data socket, Z85; empty: it was never ready
  std::optional<std::vector<TaskId>> started{};  // and not acknowledged; nullopt: not known
  std::string failed_gpu{};

  bool may_have_started(const TaskId& task) const {
    return !started || std::ranges::find(*started, task) != started->end();
  }
  bool operator==(const EndedInterpreter&) const = default;

  static constexpr auto fields() {
    return table(
        field("key", &EndedInterpreter::key, "the dead interpreter's, which tells it from one with the same epoch")
            .only_if_set(),
        field("started", &EndedInterpreter::started,
              "the tasks that it started and that were not acknowledged; absent: not known. A task of its epoch that "
              "is not among them never started")
            .only_if_set(),
        field("failed_gpu", &EndedInterpreter::failed_gpu, "as `CUDA_VISIBLE_DEVICES` names it").only_if_set());
  }
};

}  // namespace pounce

namespace pounce::model {

// What a lease's job has done since it began: told by its workers' beats, by the status document and by the line that
// stays of it.
struct JobFigures {
  std::int64_t busy_ms = 0, idle_ms = 0, cpu_ms = 0;
  std::uint64_t memory_peak_mib = 0;
  std::int32_t gpu_percent = -1;
  std::uint64_t gpu_memory_peak_mib = 0, gpu_memory_total_mib = 0;
  bool held = false;
  bool operator==(const JobFigures&) const = default;

  static constexpr auto fields() {
    return table(field("busy_ms", &JobFigures::busy_ms, "with a task"),
                 field("idle_ms", &JobFigures::idle_ms, "without one; both 0: not told"),
                 field("cpu_ms", &JobFigures::cpu_ms, "of all its processes"),
                 field("memory_peak_mib", &JobFigures::memory_peak_mib, "the most that they had"),
                 field("gpu_percent", &JobFigures::gpu_percent,
                       "of the time with a task its GPUs computed, by their driver; -1: not known"),
                 field("gpu_memory_peak_mib", &JobFigures::gpu_memory_peak_mib, "the most of one GPU"),
                 field("gpu_memory_total_mib", &JobFigures::gpu_memory_total_mib, "that one GPU has; 0: not known"),
                 field("held", &JobFigures::held, "a notebook holds it, or did for a part of the time (`%pounce hold`)")
                     .only_if_set());
  }
};

// What a job uses at the moment: its worker's last look, at most a heartbeat ago.
struct UseNow {
  std::uint32_t cpu_percent = 0;
  std::uint64_t memory_mib = 0;
  std::int32_t gpu_percent = -1;
  std::uint64_t gpu_memory_mib = 0;
  bool operator==(const UseNow&) const = default;

  static constexpr auto fields() {
    return table(field("cpu_percent", &UseNow::cpu_percent, "100: one CPU of all that its processes have"),
                 field("memory_mib", &UseNow::memory_mib, "of all its processes"),
                 field("gpu_percent", &UseNow::gpu_percent, "of all its GPUs, by their driver; -1: not known"),
                 field("gpu_memory_mib", &UseNow::gpu_memory_mib, "of the GPU that has the most; 0: not known"));
  }
};

// What programs on a worker reported last (docs/reports.md), and where they log to.
struct Reported {
  static constexpr std::size_t kMostBytes = 2048;

  std::string status{};
  std::map<std::string, std::string> numbers{};
  std::string mlflow_run{};
  bool operator==(const Reported&) const = default;

  bool nothing() const { return status.empty() && numbers.empty() && mlflow_run.empty(); }
  // Of its words; a worker that tells more than kMostBytes is not believed.
  std::size_t bytes() const {
    std::size_t sum = status.size() + mlflow_run.size();
    for (const auto& [name, value] : numbers) sum += name.size() + value.size();
    return sum;
  }

  static constexpr auto fields() {
    return table(
        field("status", &Reported::status, "the last text").only_if_set(),
        field("numbers", &Reported::numbers, "the last value of each name, as text: `nan` is no number in JSON")
            .only_if_set(),
        field("mlflow_run", &Reported::mlflow_run, "the run that the task logs into").only_if_set());
  }
};

// What is known of a worker's GPUs, of its tasks' use of them, and of the nodes that have them.

// Values that the driver does not report are empty, 0 or -1.
struct GpuRow {
  std::string uuid, model, slice, driver;
  std::uint64_t memory_mib = 0;
  std::int32_t numa_node = -1;
  std::vector<std::string> nvlink{};
  std::int64_t uncorrected_errors = -1;
  std::string failed{};
  bool operator==(const GpuRow&) const = default;

  static constexpr auto fields() {
    return table(
        field("uuid", &GpuRow::uuid, "as its driver writes it"), field("model", &GpuRow::model),
        field("slice", &GpuRow::slice, "of a GPU that is divided (MIG): `3g.40gb`").only_if_set(),
        field("driver", &GpuRow::driver, "its version"), field("memory_mib", &GpuRow::memory_mib),
        field("numa_node", &GpuRow::numa_node, "whose memory is nearest; -1: not known"),
        field("nvlink", &GpuRow::nvlink, "UUIDs of those of this worker that it reaches over NVLink").only_if_set(),
        field("uncorrected_errors", &GpuRow::uncorrected_errors,
              "of its memory (ECC), since the driver was loaded; -1: not known"),
        field("failed", &GpuRow::failed, "why it is not to be used: a sentence").only_if_set());
  }
};

// The last tasks that ran long enough for two samples of the GPUs, a second apart.
struct TaskGpuUse {
  std::string task;
  std::int32_t gpu_percent = -1;
  std::uint64_t gpu_memory_peak_mib = 0;
  bool operator==(const TaskGpuUse&) const = default;

  static constexpr auto fields() {
    return table(
        field("task", &TaskGpuUse::task, "its id"),
        field("gpu_percent", &TaskGpuUse::gpu_percent, "of its time the worker's GPUs computed; -1: not known"),
        field("gpu_memory_peak_mib", &TaskGpuUse::gpu_memory_peak_mib, "the most of one GPU meanwhile"));
  }
};

// A node with a lease of this instance, or one that the instance avoids.
struct NodeRow {
  std::string node;
  std::uint32_t leases = 0;
  std::vector<GpuRow> gpus{};
  std::string gpu_direct_storage{};
  std::int64_t avoided_until_s = 0;
  std::string trouble{};
  bool operator==(const NodeRow&) const = default;

  static constexpr auto fields() {
    return table(
        field("node", &NodeRow::node), field("leases", &NodeRow::leases, "of this instance, with a worker there"),
        field("gpus", &NodeRow::gpus, "of these leases"),
        field("gpu_direct_storage", &NodeRow::gpu_direct_storage,
              "from files to GPUs: `yes`, `compat` (through the host), `no`; empty: not told")
            .only_if_set(),
        field("avoided_until_s", &NodeRow::avoided_until_s, "unix time; until then no lease is asked for there")
            .only_if_set(),
        field("trouble", &NodeRow::trouble, "why: a sentence").only_if_set());
  }
};

}  // namespace pounce::model
