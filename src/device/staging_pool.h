// Pinned host memory through which data goes to a device and comes from it. It is registered once, since that takes
// as long as many copies do, and handed out in chunks. A chunk may come back while a copy still uses it; the next
// taker waits for that copy. Chunks are taken in the order in which they came back, so that copy is the oldest.
// Thread: any but the device's.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "device/device_thread.h"
#include "device/driver.h"

namespace pounce::device {

struct StagingChunk {
  std::span<std::byte> bytes;
  Mark last{};  // the last copy that used it
};

struct StagingSize {
  // Large enough that the start of a copy costs little, small enough that the first copy starts soon.
  std::size_t chunk_bytes = 2 << 20;
  std::size_t chunks = 8;
};

class StagingPool {
 public:
  static Result<std::unique_ptr<StagingPool>> make(DeviceThread& thread, Driver& driver, StagingSize size);
  ~StagingPool();
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;

  Result<StagingChunk> take();                     // waits until there is one
  Result<std::optional<StagingChunk>> try_take();  // nullopt: all are in use
  void give_back(StagingChunk chunk);              // also from the device's thread

 private:
  struct Unmap {
    std::size_t size;
    void operator()(std::byte* memory) const;
  };
  StagingPool(DeviceThread& thread, Driver& driver, std::unique_ptr<std::byte, Unmap> memory, StagingSize size);
  Result<StagingChunk> take_first(std::unique_lock<std::mutex> held);

  DeviceThread& thread_;
  Driver& driver_;
  std::unique_ptr<std::byte, Unmap> memory_;
  std::mutex mutex_;  // guards free_
  std::condition_variable came_back_;
  std::deque<StagingChunk> free_;
};

}  // namespace pounce::device
