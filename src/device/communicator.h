// One rank's connection to the other devices of its group: a buffer of one device is copied to all. Each call waits
// until it is done, until its time is over (the error then names the missing ranks), or until stop(). After a failure
// every call fails: the group has lost its step, and a new one must be made. Thread: one at a time, not the device's;
// stop(): any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "device/attendance.h"
#include "device/buffer.h"
#include "device/device.h"

namespace pounce::device {

class Communicator {
 public:
  struct Place {
    GroupId id;
    Rank rank;
    std::uint32_t ranks = 0;
  };

  Communicator(std::shared_ptr<Device> device, Place place, Attendance& attendance)
      : device_(std::move(device)), place_(place), attendance_(attendance) {}
  ~Communicator();  // returns at once, whatever the others do
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  Result<void> join(std::chrono::milliseconds limit);
  Result<void> broadcast(const Buffer& buffer, Rank from, std::chrono::milliseconds limit);  // the same size everywhere
  Result<void> leave(std::chrono::milliseconds limit);  // returns when all ranks have what they need
  void stop();                                          // the current call ends with kCancelled, as do later ones

 private:
  template <class Begin>
  Result<void> act(const char* what, std::chrono::milliseconds limit, Begin begin);
  Result<void> until_done(const char* what, std::chrono::milliseconds limit);
  Result<void> is_one_of_us(Rank rank) const;
  Error late(const char* what, std::chrono::milliseconds limit);
  Error with_absentees(Error error);
  bool stopped_within(std::chrono::microseconds time);
  void end();

  std::shared_ptr<Device> device_;
  const Place place_;
  Attendance& attendance_;
  std::uint64_t step_ = 0;
  std::unique_ptr<Group> group_;  // used and destroyed on the device's thread
  std::mutex mutex_;              // guards stopped_
  std::condition_variable changed_;
  bool stopped_ = false;
};

}  // namespace pounce::device
