#include "device/device_thread.h"

#include "base/thread_name.h"

namespace pounce::device {

DeviceThread::DeviceThread() : thread_([this] { serve(); }) {}

DeviceThread::~DeviceThread() {
  {
    const std::lock_guard held(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void DeviceThread::post(std::function<void()> act) {
  {
    const std::lock_guard held(mutex_);
    waiting_.push_back(std::move(act));
  }
  changed_.notify_one();
}

void DeviceThread::serve() {
  name_thread("pounce-device");
  std::unique_lock held(mutex_);
  for (;;) {
    changed_.wait(held, [this] { return over_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> act = std::move(waiting_.front());
    waiting_.pop_front();
    held.unlock();
    act();
    held.lock();
  }
}

}  // namespace pounce::device
