// The CUDA runtime's functions that we call, found in the library when it is opened (names and layouts of the CUDA
// Runtime API reference, 12 and 13), and what its error numbers mean to us. For this folder only. Thread: any; a
// device's calls are made on its thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/driver.h"
#include "pounce/error.h"

namespace pounce::device {

// The only place that knows what an error number of the CUDA runtime means to us. Thread: any.

namespace cuda {  // cudaError; tests/unit/device/cuda_declarations_test.cc compares them with CUDA's own header

inline constexpr int kSuccess = 0, kMemoryAllocation = 2, kInitialization = 3, kStubLibrary = 34,
                     kInsufficientDriver = 35, kDevicesUnavailable = 46, kNoDevice = 100, kInvalidDevice = 101,
                     kUncorrectableEcc = 214, kUncorrectableNvlink = 220, kContained = 226, kNotReady = 600,
                     kIllegalAddress = 700, kLaunchTimeout = 702, kContextIsDestroyed = 709, kAssert = 710,
                     kHardwareStack = 714, kIllegalInstruction = 715, kMisalignedAddress = 716,
                     kInvalidAddressSpace = 717, kInvalidPc = 718, kLaunchFailure = 719, kSystemNotReady = 802,
                     kSystemDriverMismatch = 803, kCompatNotSupported = 804, kUnknown = 999;

}  // namespace cuda

// `doing`: the attempted action, "copy to the device"; `words`: the runtime's text for that number.
Error cuda_error(int code, std::string_view doing, std::string_view words);

// The beginning of cudaDeviceProp, which is the same in all versions, and room for the rest.
struct CudaProperties {
  char name[256];
  unsigned char uuid[16];
  char luid[8];
  unsigned luid_mask;
  std::size_t total_memory;
  char others[4096];
};

struct CudaRuntime {
  using Stream = void*;
  using Event = void*;

  int (*device_count)(int*);
  int (*driver_version)(int*);
  int (*runtime_version)(int*);
  int (*properties)(CudaProperties*, int);
  int (*set_device)(int);
  const char* (*error_string)(int);
  int (*last_error)();
  int (*memory_info)(std::size_t*, std::size_t*);
  int (*malloc)(void**, std::size_t);
  int (*free)(void*);
  int (*host_register)(void*, std::size_t, unsigned);
  int (*host_unregister)(void*);
  int (*stream_create)(Stream*, unsigned);
  int (*stream_destroy)(Stream);
  int (*memcpy_async)(void*, const void*, std::size_t, int, Stream);
  int (*event_create)(Event*, unsigned);
  int (*event_record)(Event, Stream);
  int (*event_synchronize)(Event);
  int (*event_query)(Event);
  int (*event_destroy)(Event);
  int count = 0;  // of visible devices

  // Clears the runtime's last error, so that another library on the same thread does not take it for its own.
  Result<void> check(int code, std::string_view doing) const;

  // Takes the first library that is there and finds a device with this node's driver. The error says why the first
  // one that is there does not, or that there is none. Uses no memory of any device.
  static Result<std::shared_ptr<const CudaRuntime>> open(const std::vector<std::string>& libraries);
};

namespace cuda {

inline constexpr int kHostToDevice = 1, kDeviceToHost = 2;                            // cudaMemcpyKind
inline constexpr unsigned kNonBlockingStream = 1, kNoTiming = 2, kPlainRegister = 0;  // flags

}  // namespace cuda

}  // namespace pounce::device
