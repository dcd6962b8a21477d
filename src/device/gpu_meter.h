// Measures what the job's GPUs do, and watches whether they still work, as their driver reports it; empty where there
// is no driver. A call of the driver may never return, so a thread of its own makes the calls, and no other thread
// waits for it. Thread: the owner's.
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
  std::int32_t percent = -1;  // share of the time with a task in which they computed, the mean of all; -1: not known
  std::uint64_t memory_mib = 0;       // the largest value of one GPU at any look
  std::uint64_t memory_total_mib = 0;  // of the largest GPU; 0: not known
};

struct TaskUse {
  std::string task;
  GpuUse use;
};

struct GpuFailure {
  std::string uuid, name;  // name: as in CUDA_VISIBLE_DEVICES
  Error error;
};

class GpuMeter {
 public:
  static constexpr char kLibrary[] = "libnvidia-ml.so.1";
  static constexpr std::size_t kTasks = 16;  // the tasks that are remembered

  // `visible`: as in CUDA_VISIBLE_DEVICES; empty: no thread starts.
  explicit GpuMeter(const std::string& visible, const std::string& library = kLibrary,
                    std::chrono::milliseconds between_snapshots = std::chrono::seconds(1));
  ~GpuMeter();  // returns at once, even while a call hangs
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;

  void set_busy(bool busy);  // a look at their health follows soon, since a GPU fails with a task rather than without
  GpuUse used() const;

  // Counts use from now on for this task; empty: for no task.
  void set_task(const std::string& task);
  std::deque<TaskUse> tasks() const;  // tasks that a look has seen, oldest first

  // Readable when there is something new; hear() clears that.
  int news_fd() const;
  void hear();
  std::optional<std::vector<DeviceFacts>> facts() const;  // nullopt: not known yet, or never
  GpuDirectStorage storage() const;                       // known with the facts
  std::vector<GpuFailure> failures() const;               // each GPU once, in the order of failure

  // Queries which GPUs another list names; without a list, all that there are. The answer is news. An answer of
  // nullopt: the driver does not tell.
  void ask_uuids(const std::optional<std::string>& visible);
  struct Uuids {
    std::vector<std::string> own, queried;
  };
  std::optional<std::optional<Uuids>> uuids() const;  // outer: no answer yet

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // shared with the thread, which may outlive this
};

}  // namespace pounce::device
