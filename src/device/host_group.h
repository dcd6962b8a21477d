// A group of host devices. Its ranks are threads or processes of one machine, which meet in a file in its memory that
// only their user can open; data goes through it piece by piece. The file is gone when all have joined. Thread: each
// rank on its device's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "device/driver.h"

namespace pounce::device {

// What the ranks have in common, in memory that all of them map: how far each of them is, and a piece of what is sent.
// For host_group.cc and its tests only.
class HostMeeting {
 public:
  static constexpr std::size_t kPieceBytes = 1 << 20;
  static constexpr std::uint32_t kMostRanks = 1024;

  // One per rank, on a cache line of its own; only that rank writes it.
  struct alignas(64) Seat {
    std::atomic<std::uint64_t> came, done;  // the steps that this rank has begun and ended
    std::atomic<std::uint64_t> size;        // of the data that it sends or expects in the step that it has begun
    std::atomic<std::uint64_t> taken;       // bytes received, over all steps so far
  };
  struct Shared {  // all zero at first
    std::atomic<std::uint32_t> broken;
    alignas(64) std::atomic<std::uint64_t> sent;  // bytes, over all steps so far
    alignas(64) std::byte piece[kPieceBytes];
    Seat seats[];
  };

  static Result<std::unique_ptr<HostMeeting>> open(const GroupId& id, std::uint32_t ranks);
  ~HostMeeting();
  HostMeeting(const HostMeeting&) = delete;
  HostMeeting& operator=(const HostMeeting&) = delete;

  Shared& shared() const { return *shared_; }
  std::span<Seat> seats() const { return {shared_->seats, ranks_}; }
  void all_are_here();                   // removes the file, so that no other rank can open it
  void is_anothers() { path_.clear(); }  // this process is not a member: the file stays

 private:
  HostMeeting(std::string path, Shared* shared, std::uint32_t ranks)
      : path_(std::move(path)), shared_(shared), ranks_(ranks) {}

  std::string path_;  // empty: the file is removed
  Shared* shared_;
  const std::uint32_t ranks_;
};

Result<std::unique_ptr<Group>> host_group(const GroupId& id, Rank rank, std::uint32_t ranks);

}  // namespace pounce::device
