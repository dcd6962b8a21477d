// The work of a lease's job since it began. Sent in its workers' heartbeats, part of the status document and of the
// line kept in the history. Values. Thread: any.
#pragma once

#include <cstdint>

#include "pounce/fields.h"

namespace pounce::model {

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
                 field("gpu_percent", &JobFigures::gpu_percent, "of the time with a task its GPUs computed, by their driver; -1: not known"),
                 field("gpu_memory_peak_mib", &JobFigures::gpu_memory_peak_mib, "the most of one GPU"),
                 field("gpu_memory_total_mib", &JobFigures::gpu_memory_total_mib, "that one GPU has; 0: not known"),
                 field("held", &JobFigures::held, "a notebook holds it, or did for a part of the time (`%pounce hold`)").only_if_set());
  }
};

}  // namespace pounce::model
