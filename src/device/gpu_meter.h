// What the job's GPUs are, have done, and whether they still work, as their driver tells it; nothing where there is none. A
// driver's call may never return, so a thread of its own makes them, and nobody waits for it. Thread: the owner's.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device_facts.h"
#include "device/gpu_direct_storage.h"
#include "pounce/error.h"

namespace pounce::device {

struct GpuUse {
  std::int32_t percent = -1;          // of the time with a task in which they computed, the mean of all; -1: not known
  std::uint64_t memory_mib = 0;       // most that one of them had at any look
  std::uint64_t memory_total_mib = 0;  // that the largest has; 0: not known
};

struct TaskUse {
  std::string task;
  GpuUse use;
};

struct GpuFailure {
  std::string uuid, name;  // as CUDA_VISIBLE_DEVICES names it
  Error error;
};

class GpuMeter {
 public:
  static constexpr char kLibrary[] = "libnvidia-ml.so.1";
  static constexpr std::size_t kTasks = 16;  // that are remembered

  // `visible` as CUDA_VISIBLE_DEVICES names them; none of them, no thread.
  explicit GpuMeter(const std::string& visible, const std::string& library = kLibrary,
                    std::chrono::milliseconds between_snapshots = std::chrono::seconds(1));
  ~GpuMeter();  // at once, also where a call hangs
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;

  void set_busy(bool busy);  // a look at their health follows soon: a GPU fails with a task rather than without
  GpuUse used() const;

  // What is seen from now on is this task's; empty: nobody's.
  void set_task(const std::string& task);
  std::deque<TaskUse> tasks() const;  // of those that a look has found, oldest first

  // Readable when the driver has told something new: `hear()` takes that away.
  int news_fd() const;
  void hear();
  std::optional<std::vector<DeviceFacts>> facts() const;  // not told yet, or never
  GpuDirectStorage storage() const;                       // known with the facts
  std::vector<GpuFailure> failures() const;               // each GPU once, in the order in which they failed

  // Which GPUs another list names; without one all that there are. The answer is news; nothing in it: the driver does not tell.
  void ask_uuids(const std::optional<std::string>& visible);
  struct Uuids {
    std::vector<std::string> own, asked;
  };
  std::optional<std::optional<Uuids>> uuids() const;  // outer: no answer yet

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive us
};

}  // namespace pounce::device
