// What numbers of CUDA's and NCCL's mean to us, those that nobody knows too.
#include <gtest/gtest.h>

#include "device/cuda_runtime.h"
#include "device/nccl.h"

namespace pounce::device {
namespace {

ErrorCode of_cuda(int code) { return cuda_error(code, "try", "words").code; }
ErrorCode of_nccl(int code) { return nccl_error(code, "try", "words").code; }

TEST(CudaErrorTest, SaysWhatWasTriedInTheRuntimesWords) {
  const Error error = cuda_error(cuda::kLaunchFailure, "copy to the device", "unspecified launch failure");

  EXPECT_EQ(error.text, "CUDA could not copy to the device: unspecified launch failure");
  EXPECT_EQ(error.context.at("cuda_error"), "719");
}

TEST(CudaErrorTest, TellsAFullFromAnAbsentFromAFailedDevice) {
  EXPECT_EQ(of_cuda(cuda::kMemoryAllocation), ErrorCode::kOutOfMemory);
  for (const int code : {cuda::kInitialization, cuda::kStubLibrary, cuda::kInsufficientDriver,
                         cuda::kDevicesUnavailable, cuda::kNoDevice, cuda::kInvalidDevice, cuda::kSystemNotReady,
                         cuda::kSystemDriverMismatch, cuda::kCompatNotSupported})
    EXPECT_EQ(of_cuda(code), ErrorCode::kDeviceUnavailable) << code;
  for (const int code :
       {cuda::kUncorrectableEcc, cuda::kUncorrectableNvlink, cuda::kContained, cuda::kIllegalAddress,
        cuda::kLaunchTimeout, cuda::kContextIsDestroyed, cuda::kAssert, cuda::kHardwareStack, cuda::kIllegalInstruction,
        cuda::kMisalignedAddress, cuda::kInvalidAddressSpace, cuda::kInvalidPc, cuda::kLaunchFailure, cuda::kUnknown})
    EXPECT_EQ(of_cuda(code), ErrorCode::kDeviceFailed) << code;
}

TEST(CudaErrorTest, ANumberThatNobodyKnowsIsInternalAndNamed) {
  EXPECT_EQ(of_cuda(123456), ErrorCode::kInternal);
  EXPECT_EQ(of_cuda(-1), ErrorCode::kInternal);
  EXPECT_EQ(cuda_error(123456, "try", "unrecognized error code").text,
            "CUDA could not try: unrecognized error code (123456)");
}

TEST(NcclErrorTest, TellsWhoseFaultItIs) {
  EXPECT_EQ(of_nccl(nccl::kUnhandledCuda), ErrorCode::kDeviceFailed);
  EXPECT_EQ(of_nccl(nccl::kInvalidArgument), ErrorCode::kBadRequest);
  EXPECT_EQ(of_nccl(nccl::kInvalidUsage), ErrorCode::kBadRequest);
  EXPECT_EQ(of_nccl(nccl::kSystem), ErrorCode::kLost);
  EXPECT_EQ(of_nccl(nccl::kRemote), ErrorCode::kLost);
  EXPECT_EQ(of_nccl(nccl::kTimeout), ErrorCode::kTimeout);
}

TEST(NcclErrorTest, ANumberThatNobodyKnowsIsInternalAndNamed) {
  EXPECT_EQ(of_nccl(nccl::kInternal), ErrorCode::kInternal);
  EXPECT_EQ(nccl_error(77, "broadcast", "unknown result code").text,
            "NCCL could not broadcast: unknown result code (77)");
}

}  // namespace
}  // namespace pounce::device
