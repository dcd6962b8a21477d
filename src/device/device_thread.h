// The thread that makes all calls of one device, in order: a driver's "current device" belongs to a thread, and so
// does a communicator. No call on it waits for another rank. Thread: any.
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
  ~DeviceThread();  // runs the posted calls, then ends
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

  // Returns at once; calls run in order. The caller limits how many it posts: an upload posts one copy for each chunk
  // that it has.
  void post(std::function<void()> act);

  // Waits for the result. Not from the thread itself.
  template <class Act>
  auto run(Act act) -> decltype(act()) {
    POUNCE_CHECK(std::this_thread::get_id() != thread_.get_id(), "a device's thread would wait for itself");
    // Shared, until the other thread has released it too.
    const auto done = std::make_shared<std::promise<decltype(act())>>();
    auto result = done->get_future();
    post([done, &act] { done->set_value(act()); });
    return result.get();
  }

 private:
  void serve();

  std::mutex mutex_;  // guards waiting_ and over_; no call is made under it
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool over_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace pounce::device
