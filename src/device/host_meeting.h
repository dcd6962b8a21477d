// What the ranks of a group of host devices have in common: how far each of them is, and a piece of what is sent. Memory
// that all of them map. For host_group.cc only. Thread: each rank its device's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "device/driver.h"

namespace pounce::device {

class HostMeeting {
 public:
  static constexpr std::size_t kPieceBytes = 1 << 20;
  static constexpr std::uint32_t kMostRanks = 1024;

  // Each on a line of its own: nobody else writes it.
  struct alignas(64) Seat {
    std::atomic<std::uint64_t> came, done;  // the step that this rank has begun, and ended
    std::atomic<std::uint64_t> size;        // of what it sends, or has room for, in the step that it has begun
    std::atomic<std::uint64_t> taken;       // of what is sent, by all steps so far
  };
  struct Shared {  // zeros, to begin with
    std::atomic<std::uint32_t> broken;
    alignas(64) std::atomic<std::uint64_t> sent;  // bytes, by all steps so far
    alignas(64) std::byte piece[kPieceBytes];
    Seat seats[];
  };

  static Result<std::unique_ptr<HostMeeting>> open(const GroupId& id, std::uint32_t ranks);
  ~HostMeeting();
  HostMeeting(const HostMeeting&) = delete;
  HostMeeting& operator=(const HostMeeting&) = delete;

  Shared& shared() const { return *shared_; }
  std::span<Seat> seats() const { return {shared_->seats, ranks_}; }
  void all_are_here();                     // nobody else is to find it
  void is_anothers() { path_.clear(); }  // we are none of them: it stays

 private:
  HostMeeting(std::string path, Shared* shared, std::uint32_t ranks) : path_(std::move(path)), shared_(shared), ranks_(ranks) {}

  std::string path_;  // empty: it is gone
  Shared* shared_;
  const std::uint32_t ranks_;
};

}  // namespace pounce::device
