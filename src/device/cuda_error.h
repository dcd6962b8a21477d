// The only place that maps numbers of the CUDA runtime to errors. Thread: any.
#pragma once

#include <string_view>

#include "pounce/error.h"

namespace pounce::device {

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

}  // namespace pounce::device
