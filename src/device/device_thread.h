// The thread that makes all calls of one device, in the order in which they were asked for: a driver's idea of "the
// current device" belongs to a thread, and so does a communicator. No call on it waits for another rank. Thread: any.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "base/check.h"

namespace pounce::device {

class DeviceThread {
 public:
  DeviceThread();
  ~DeviceThread();  // does what was asked for, then ends
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

  // At once; later calls come after it. Bounded by whoever posts: an upload posts one copy for each chunk that it has.
  void post(std::function<void()> act);

  // Waits for the result. Not from the thread itself.
  template <class Act>
  auto run(Act act) -> decltype(act()) {
    POUNCE_CHECK(std::this_thread::get_id() != thread_.get_id(), "a device's thread would wait for itself");
    const auto done = std::make_shared<std::promise<decltype(act())>>();  // until the other thread has let go of it too
    auto result = done->get_future();
    post([done, &act] { done->set_value(act()); });
    return result.get();
  }

 private:
  void serve();

  std::mutex mutex_;  // guards the two below; nothing is called under it
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool over_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace pounce::device
