// One device as the rest of pounce uses it, of any kind: memory that is counted, a thread that makes its calls, and the
// pinned memory that copies go through. Buffers, transfers and communicators keep it alive. Thread: any but the
// device's.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "base/check.h"
#include "device/driver.h"
#include "pounce/error.h"

namespace pounce::device {

// The thread that makes all calls of one device, in the order in which they were posted: a driver's "current device"
// belongs to a thread, and so does a communicator. No call on it waits for another rank. Thread: any.
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

// How much of a device's memory each holder has, and how much it was at most; the text of an "out of memory" comes from
// here. Pure.
struct MemoryUse {  // pounce's share of a device
  std::uint64_t bytes = 0, most_bytes = 0;
  std::map<std::string, std::uint64_t> holders;  // by purpose
};

class MemoryLedger {
 public:
  void add(const std::string& holder, std::uint64_t bytes);
  void remove(const std::string& holder, std::uint64_t bytes);
  const MemoryUse& use() const { return use_; }

 private:
  MemoryUse use_;
};

// The error when `wanted_bytes` are not there. `room`: as the driver reports it; nullopt: the driver no longer
// answers.
Error out_of_device_memory(std::uint64_t wanted_bytes, const MemoryUse& use, std::optional<MemoryRoom> room);

// Pinned host memory through which data goes to a device and comes from it. It is registered once, since that takes as
// long as many copies do, and handed out in chunks. A chunk may come back while a copy still uses it: its next user
// waits for that copy. Chunks are taken in the order in which they came back, so the copy waited for is the oldest.
// Thread: any but the device's.
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

// Memory of a device, given back with its last use. Thread: any but the device's.
class Device;

class Buffer {
 public:
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const { return memory_; }  // an address on the device; null if the size is 0
  std::size_t size() const { return size_; }
  Device& device() const { return *device_; }

 private:
  friend class Device;
  Buffer(std::shared_ptr<Device> device, std::byte* memory, std::size_t size, std::string holder)
      : device_(std::move(device)), memory_(memory), size_(size), holder_(std::move(holder)) {}

  std::shared_ptr<Device> device_;
  std::byte* memory_;
  std::size_t size_;
  std::string holder_;
};

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
