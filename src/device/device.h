// One device of any kind, as the rest of pounce uses it: memory that is counted, a thread that makes its calls, and
// the pinned memory that copies go through. Buffers, uploads, downloads and communicators share ownership of it.
// Thread: any but the device's.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "device/device_thread.h"
#include "device/driver.h"
#include "device/memory_ledger.h"
#include "device/staging_pool.h"

namespace pounce::device {

class Buffer;

class Device : public std::enable_shared_from_this<Device> {
 public:
  static Result<std::shared_ptr<Device>> open(Backend& backend, Ordinal which, StagingSize staging = {});
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // `holder`: the purpose, as an "out of memory" error names it.
  Result<Buffer> allocate(std::size_t size, std::string holder);
  MemoryUse use() const;
  Result<MemoryRoom> room();
  Ordinal ordinal() const { return ordinal_; }
  std::uintptr_t stream() const { return driver_->stream(); }

  // For the classes that are built on it.
  DeviceThread& thread() { return thread_; }
  Driver& driver() { return *driver_; }  // on the thread
  StagingPool& staging() { return *staging_; }

 private:
  friend class Buffer;
  explicit Device(Ordinal which) : ordinal_(which) {}
  Result<void> start(Backend& backend, StagingSize staging);
  Result<std::byte*> take_memory(std::size_t size, const std::string& holder);  // on the thread
  void give_back(std::byte* memory, std::size_t size, const std::string& holder);

  const Ordinal ordinal_;
  mutable std::mutex mutex_;  // guards ledger_
  MemoryLedger ledger_;
  DeviceThread thread_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<StagingPool> staging_;
};

}  // namespace pounce::device
