#include "device/cuda_error.h"

#include <string>

namespace pounce::device {
namespace {

ErrorCode code_of_cuda(int code) {
  switch (code) {
    case cuda::kMemoryAllocation:
      return ErrorCode::kOutOfMemory;
    case cuda::kInitialization:
    case cuda::kStubLibrary:
    case cuda::kInsufficientDriver:
    case cuda::kDevicesUnavailable:
    case cuda::kNoDevice:
    case cuda::kInvalidDevice:
    case cuda::kSystemNotReady:
    case cuda::kSystemDriverMismatch:
    case cuda::kCompatNotSupported:
      return ErrorCode::kDeviceUnavailable;
    // After each of these nothing on that device works in this process, even if another library's kernel caused it.
    case cuda::kUncorrectableEcc:
    case cuda::kUncorrectableNvlink:
    case cuda::kContained:
    case cuda::kIllegalAddress:
    case cuda::kLaunchTimeout:
    case cuda::kContextIsDestroyed:
    case cuda::kAssert:
    case cuda::kHardwareStack:
    case cuda::kIllegalInstruction:
    case cuda::kMisalignedAddress:
    case cuda::kInvalidAddressSpace:
    case cuda::kInvalidPc:
    case cuda::kLaunchFailure:
    case cuda::kUnknown:  // the answer of a lost GPU to all calls
      return ErrorCode::kDeviceFailed;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

Error cuda_error(int code, std::string_view doing, std::string_view words) {
  Error error{code_of_cuda(code),
              "CUDA could not " + std::string(doing) + ": " + std::string(words),
              {},
              {{"cuda_error", std::to_string(code)}}};
  if (error.code == ErrorCode::kInternal) error.text += " (" + std::to_string(code) + ")";
  return error;
}

}  // namespace pounce::device
