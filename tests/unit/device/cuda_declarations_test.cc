// What we wrote down of the CUDA runtime, beside its own header and library, where the build found nvcc.
#include <gtest/gtest.h>

#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>

#include "device/cuda_runtime.h"

namespace pounce::device {
namespace {

static_assert(cuda::kSuccess == cudaSuccess && cuda::kMemoryAllocation == cudaErrorMemoryAllocation &&
              cuda::kInitialization == cudaErrorInitializationError);
static_assert(cuda::kStubLibrary == cudaErrorStubLibrary && cuda::kInsufficientDriver == cudaErrorInsufficientDriver);
static_assert(cuda::kDevicesUnavailable == cudaErrorDevicesUnavailable && cuda::kNoDevice == cudaErrorNoDevice &&
              cuda::kInvalidDevice == cudaErrorInvalidDevice);
static_assert(cuda::kUncorrectableEcc == cudaErrorECCUncorrectable &&
              cuda::kUncorrectableNvlink == cudaErrorNvlinkUncorrectable);
static_assert(cuda::kNotReady == cudaErrorNotReady && cuda::kIllegalAddress == cudaErrorIllegalAddress &&
              cuda::kLaunchTimeout == cudaErrorLaunchTimeout);
static_assert(cuda::kContextIsDestroyed == cudaErrorContextIsDestroyed && cuda::kAssert == cudaErrorAssert &&
              cuda::kHardwareStack == cudaErrorHardwareStackError);
static_assert(cuda::kIllegalInstruction == cudaErrorIllegalInstruction &&
              cuda::kMisalignedAddress == cudaErrorMisalignedAddress);
static_assert(cuda::kInvalidAddressSpace == cudaErrorInvalidAddressSpace && cuda::kInvalidPc == cudaErrorInvalidPc);
static_assert(cuda::kLaunchFailure == cudaErrorLaunchFailure && cuda::kSystemNotReady == cudaErrorSystemNotReady &&
              cuda::kUnknown == cudaErrorUnknown);
static_assert(cuda::kSystemDriverMismatch == cudaErrorSystemDriverMismatch &&
              cuda::kCompatNotSupported == cudaErrorCompatNotSupportedOnDevice);
#if CUDART_VERSION >= 12080
static_assert(cuda::kContained == cudaErrorContained);
#endif
static_assert(cuda::kHostToDevice == cudaMemcpyHostToDevice && cuda::kDeviceToHost == cudaMemcpyDeviceToHost);
static_assert(cuda::kNonBlockingStream == cudaStreamNonBlocking && cuda::kNoTiming == cudaEventDisableTiming &&
              cuda::kPlainRegister == cudaHostRegisterDefault);

static_assert(offsetof(CudaProperties, name) == offsetof(cudaDeviceProp, name) &&
              sizeof(CudaProperties::name) == sizeof(cudaDeviceProp::name));
static_assert(offsetof(CudaProperties, uuid) == offsetof(cudaDeviceProp, uuid) &&
              sizeof(CudaProperties::uuid) == sizeof(cudaDeviceProp::uuid));
static_assert(offsetof(CudaProperties, total_memory) == offsetof(cudaDeviceProp, totalGlobalMem) &&
              sizeof(CudaProperties) >= sizeof(cudaDeviceProp));

// As C calls them an enumeration is an int and a handle is a pointer; so far a function of ours is one of theirs.
template <class T>
using AsC = std::conditional_t<std::is_enum_v<T>, int, std::conditional_t<std::is_pointer_v<T>, void*, T>>;
template <class Result, class... Parameters>
constexpr auto as_c(Result (*)(Parameters...)) -> AsC<Result> (*)(AsC<Parameters>...);
template <class Ours, class Theirs>
constexpr bool kSame =
    std::is_same_v<decltype(as_c(static_cast<Ours>(nullptr))), decltype(as_c(static_cast<Theirs>(nullptr)))>;

static_assert(kSame<decltype(CudaRuntime::device_count), decltype(&cudaGetDeviceCount)>);
static_assert(kSame<decltype(CudaRuntime::driver_version), decltype(&cudaDriverGetVersion)>);
static_assert(kSame<decltype(CudaRuntime::runtime_version), decltype(&cudaRuntimeGetVersion)>);
static_assert(kSame<decltype(CudaRuntime::properties), decltype(&cudaGetDeviceProperties)>);
static_assert(kSame<decltype(CudaRuntime::set_device), decltype(&cudaSetDevice)>);
static_assert(kSame<decltype(CudaRuntime::error_string), decltype(&cudaGetErrorString)>);
static_assert(kSame<decltype(CudaRuntime::last_error), decltype(&cudaGetLastError)>);
static_assert(kSame<decltype(CudaRuntime::memory_info), decltype(&cudaMemGetInfo)>);
static_assert(kSame<decltype(CudaRuntime::malloc), cudaError_t (*)(void**, std::size_t)>);
static_assert(kSame<decltype(CudaRuntime::free), decltype(&cudaFree)>);
static_assert(kSame<decltype(CudaRuntime::host_register), decltype(&cudaHostRegister)>);
static_assert(kSame<decltype(CudaRuntime::host_unregister), decltype(&cudaHostUnregister)>);
static_assert(kSame<decltype(CudaRuntime::stream_create), decltype(&cudaStreamCreateWithFlags)>);
static_assert(kSame<decltype(CudaRuntime::stream_destroy), decltype(&cudaStreamDestroy)>);
static_assert(kSame<decltype(CudaRuntime::memcpy_async), decltype(&cudaMemcpyAsync)>);
static_assert(kSame<decltype(CudaRuntime::event_record), decltype(&cudaEventRecord)>);
static_assert(kSame<decltype(CudaRuntime::event_synchronize), decltype(&cudaEventSynchronize)>);
static_assert(kSame<decltype(CudaRuntime::event_query), decltype(&cudaEventQuery)>);
static_assert(kSame<decltype(CudaRuntime::event_destroy), decltype(&cudaEventDestroy)>);
static_assert(kSame<decltype(CudaRuntime::event_create), decltype(&cudaEventCreateWithFlags)>);

// Without a GPU it finds all functions and says that there is no driver, or no GPU.
TEST(CudaDeclarationsTest, TheRuntimeOfTheBuildHasAllFunctionsThatWeCall) {
  const auto opened = CudaRuntime::open({POUNCE_CUDA_RUNTIME});

  EXPECT_TRUE(opened || opened.error().text.find("has no function") == std::string::npos) << opened.error().text;
  EXPECT_TRUE(opened || opened.error().text.find("there is no CUDA runtime") == std::string::npos)
      << opened.error().text;
}

}  // namespace
}  // namespace pounce::device

#else

TEST(CudaDeclarationsTest, TheRuntimeOfTheBuildHasAllFunctionsThatWeCall) {
  GTEST_SKIP() << "not run: the build found no nvcc, and so no header of CUDA";
}

#endif
