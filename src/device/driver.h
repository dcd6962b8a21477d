// The one interface to devices: what is known of a device, what each kind of device (host memory, CUDA) can do, and the
// two kinds there are. Counting, staging, order and waiting are built on it once for all kinds (device.h, transfer.h,
// communicator.h), and no header of a foreign library is seen above it. tests/contract/device holds every kind to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/ids.h"
#include "pounce/error.h"

namespace pounce::device {

// Values. Thread: any.
struct MemoryRoom {  // of the whole device, with all processes
  std::uint64_t free_bytes = 0, total_bytes = 0;
};

struct DeviceFacts {
  std::string uuid;    // as the driver writes it: GPU-… or MIG-…
  std::string model;   // for a slice, with the slice's own name
  std::string driver;  // its version
  MemoryRoom memory;
  std::optional<bool> sliced;                       // the GPU is divided into slices (MIG)
  std::optional<std::uint32_t> numa_node;           // the nearest one
  std::vector<std::string> nvlink_peers;            // UUIDs of the visible GPUs that it reaches over NVLink
  std::optional<std::uint64_t> uncorrected_errors;  // of its memory (ECC), since the driver was loaded
};

using Ordinal = Number<struct OrdinalTag, std::uint32_t>;  // of a visible device, from 0
using Mark = Number<struct MarkTag, std::uint64_t>;        // a copy, numbered from 1 in the order of starting; 0: none
using Rank = Number<struct RankTag, std::uint32_t>;
using GroupId = HexId<struct GroupTag, 128>;  // one rank makes it and gives it to all

// One rank of a group of devices. Each call only begins its work; is_done() tells when that is done. Thread: the
// device's.
class Group {
 public:
  Group() = default;
  virtual ~Group() = default;  // ends it at once, as abort() does
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  virtual Result<void> broadcast(std::byte* memory, std::size_t size, Rank from) = 0;
  virtual Result<void> leave() = 0;    // done when all ranks have left
  virtual Result<bool> is_done() = 0;  // whether the call that began last is done; the first one is join
  virtual void abort() = 0;            // ends all work; the other ranks hear of it, or their time is over
};

// One device. No call takes longer than a chunk's copy. Thread: the device's (device.h), from open() to the
// end.
class Driver {
 public:
  Driver() = default;
  virtual ~Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  virtual Result<MemoryRoom> room() = 0;
  virtual Result<std::byte*> allocate(std::size_t size) = 0;  // kOutOfMemory, in the driver's own words
  virtual Result<void> free(std::byte* memory) = 0;
  virtual Result<void> pin(std::span<std::byte> host) = 0;  // so that copies from and to it are asynchronous
  virtual Result<void> unpin(std::span<std::byte> host) = 0;
  // Copies are done in the order in which they began, in either direction.
  virtual Result<Mark> copy_in(std::byte* to, std::span<const std::byte> from) = 0;
  virtual Result<Mark> copy_out(std::span<std::byte> to, const std::byte* from) = 0;
  virtual Result<void> wait(Mark mark) = 0;  // until that copy and all before it are done
  virtual Result<std::unique_ptr<Group>> join(const GroupId& id, Rank rank, std::uint32_t ranks) = 0;
  // The stream of the copies, for a framework that must put its own work before or behind them (DLPack's `stream`);
  // 0: there is none.
  virtual std::uintptr_t stream() const = 0;
};

// A kind of device. Thread: any.
class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  virtual Result<std::vector<DeviceFacts>> devices() = 0;           // the visible ones; uses none of their memory
  virtual Result<std::unique_ptr<Driver>> open(Ordinal which) = 0;  // on the thread that will use it
  virtual Result<GroupId> new_group() = 0;
};

// Devices made of this machine's memory: where there is no GPU, the same calls have the same results. A copy is done
// when it has begun. The ranks of a group are on one machine. Thread: any.
struct HostSize {
  std::uint32_t devices = 1;
  std::uint64_t memory_bytes = 0;  // per device; 0: the machine's
};

std::unique_ptr<Backend> host_backend(HostSize size = {});

// GPUs through the CUDA runtime and NCCL, where these are installed. Thread: any.

// Names or paths; the first usable one is taken. A library that another library of the process has loaded is found by
// its name.
struct CudaLibraries {
  std::vector<std::string> runtime = {"libcudart.so.13", "libcudart.so.12"};
  std::vector<std::string> nccl = {"libnccl.so.2"};
};

// kDeviceUnavailable: no runtime, no driver, one that is too old, or no GPU, in one sentence each. Uses no memory of
// any device.
Result<std::unique_ptr<Backend>> cuda_backend(CudaLibraries libraries = {});

}  // namespace pounce::device
