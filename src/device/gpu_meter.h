// What the job's GPUs are, have done, and whether they still work, as their driver tells it; nothing where there is
// none. A driver's call may never return, so a thread of its own makes them, and no caller waits for it. Thread: the
// owner's.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/driver.h"
#include "pounce/error.h"

namespace pounce::device {

// Whether bytes can go from a file to a GPU past the host's memory (GPUDirect Storage). Thread: any.
enum class GpuDirectStorage : std::uint8_t {
  kYes,     // the kernel's module is loaded
  kCompat,  // cuFile is there without it: it copies through the host
  kNo,
};
std::string word(GpuDirectStorage kind);

GpuDirectStorage gpu_direct_storage(const std::string& module = "/proc/driver/nvidia-fs",
                                    const std::string& library = "libcufile.so.0");

struct GpuUse {
  std::int32_t percent = -1;     // share of the time with a task in which they computed, the mean of all; -1: not known
  std::uint64_t memory_mib = 0;  // the largest value of one GPU at any look
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
  GpuUse now() const;  // at the last look

  // Counts use from now on for this task; empty: for no task.
  void set_task(const std::string& task);
  std::deque<TaskUse> tasks() const;  // tasks that a look has seen, oldest first

  // Readable when there is something new; hear() clears that.
  int event_fd() const;
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
