#include "device/gpu_meter.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "device/nvml.h"

namespace pounce::device {

// All behind the lock, which is never held during a call of the driver's.
struct GpuMeter::Shared {
  std::mutex lock;
  std::condition_variable changed;
  bool busy = false, over = false, ended = false;
  std::uint64_t percents = 0, looks = 0;
  GpuUse use;

  void add(const Nvml::Look& look) {
    use.memory_mib = std::max(use.memory_mib, look.used_mib);
    use.memory_total_mib = std::max(use.memory_total_mib, look.total_mib);
    if (!busy || !look.percent) return;
    percents += *look.percent;
    use.percent = static_cast<std::int32_t>(percents / ++looks);
  }

  void watch(const std::string& visible, const std::string& library, std::chrono::milliseconds between) {
    const auto nvml = Nvml::open(library);
    const auto devices = nvml ? nvml->devices(visible) : std::vector<Nvml::Device>();
    std::unique_lock held(lock);
    while (!over && !devices.empty()) {
      for (const Nvml::Device device : devices) {
        held.unlock();
        const Nvml::Look look = nvml->look(device);
        held.lock();
        add(look);
      }
      changed.wait_for(held, between, [this] { return over; });
    }
    ended = true;
    changed.notify_all();
  }
};

GpuMeter::GpuMeter(const std::string& visible, const std::string& library, std::chrono::milliseconds between)
    : shared_(std::make_shared<Shared>()) {
  shared_->ended = visible.empty();
  if (visible.empty()) return;
  try {
    std::thread([shared = shared_, visible, library, between] { shared->watch(visible, library, between); }).detach();
  } catch (const std::system_error&) {  // no more threads for this job: nothing is known then
    shared_->ended = true;
  }
}

GpuMeter::~GpuMeter() {
  constexpr std::chrono::milliseconds kBetweenCalls{200};  // one that does not hang is over by then
  std::unique_lock held(shared_->lock);
  shared_->over = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(held, kBetweenCalls, [this] { return shared_->ended; });
}

void GpuMeter::set_busy(bool busy) {
  const std::lock_guard held(shared_->lock);
  shared_->busy = busy;
}

GpuUse GpuMeter::used() const {
  const std::lock_guard held(shared_->lock);
  return shared_->use;
}

}  // namespace pounce::device
