// What the job's GPUs have done, as their driver tells it; nothing where there is none. A driver's call may never return, so
// a thread of its own makes them, and nobody waits for it. Thread: the owner's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace pounce::device {

struct GpuUse {
  std::int32_t percent = -1;          // of the time with a task in which they computed, the mean of all; -1: not known
  std::uint64_t memory_mib = 0;       // most that one of them had at any look
  std::uint64_t memory_total_mib = 0;  // that the largest has; 0: not known
};

class GpuMeter {
 public:
  static constexpr char kLibrary[] = "libnvidia-ml.so.1";

  // `visible` as CUDA_VISIBLE_DEVICES names them; none of them, no thread.
  explicit GpuMeter(const std::string& visible, const std::string& library = kLibrary,
                    std::chrono::milliseconds between_snapshots = std::chrono::seconds(1));
  ~GpuMeter();  // at once, also where a call hangs
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;

  void set_busy(bool busy);
  GpuUse used() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive us
};

}  // namespace pounce::device
