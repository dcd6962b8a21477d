// One rank's path to the other devices of its group: what is on one of them is copied to all. Each call waits until it
// is done, until its time is over (the error then names the missing ranks), or until it is stopped. A group that lost a
// step does nothing more and is made anew. Thread: one at a time, not the device's; stop(): any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "device/device.h"
#include "device/driver.h"

namespace pounce::device {

// Which ranks have come to which step of a group's work. No library for groups of GPUs tells which rank it waits for,
// so each rank reports to one that hears all of them: the client of a gang. Thread: any; a call may wait for the
// network.
class Attendance {
 public:
  Attendance() = default;
  virtual ~Attendance() = default;
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;

  virtual void arrive(Rank rank, std::uint64_t step) = 0;
  virtual std::optional<std::vector<Rank>> missing(std::uint64_t step) = 0;  // in order; nullopt: not known here
};

class Communicator {
 public:
  struct Membership {
    GroupId id;
    Rank rank;
    std::uint32_t ranks = 0;
  };

  Communicator(std::shared_ptr<Device> device, Membership membership, Attendance& attendance)
      : device_(std::move(device)), membership_(membership), attendance_(attendance) {}
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
  const Membership membership_;
  Attendance& attendance_;
  std::uint64_t step_ = 0;
  std::unique_ptr<Group> group_;  // used and destroyed on the device's thread
  std::mutex mutex_;              // guards stopped_
  std::condition_variable changed_;
  bool stopped_ = false;
};

}  // namespace pounce::device
