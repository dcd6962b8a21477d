#include "device/cuda_runtime.h"

#include "device/shared_library.h"

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

namespace {

constexpr char kNoRuntimeRemedy[] =
    "Install the CUDA runtime where the worker's Python finds it (torch brings it), or load the site's CUDA module in "
    "setup.";

std::string version_words(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

bool find_all(SharedLibrary& library, CudaRuntime& calls) {
  return library.find("cudaGetDeviceCount", calls.device_count) &&
         library.find("cudaDriverGetVersion", calls.driver_version) &&
         library.find("cudaRuntimeGetVersion", calls.runtime_version) &&
         // CUDA 12 has two versions of it, which begin alike (gotchas G6).
         (library.find("cudaGetDeviceProperties_v2", calls.properties) ||
          library.find("cudaGetDeviceProperties", calls.properties)) &&
         library.find("cudaSetDevice", calls.set_device) && library.find("cudaGetErrorString", calls.error_string) &&
         library.find("cudaGetLastError", calls.last_error) && library.find("cudaMemGetInfo", calls.memory_info) &&
         library.find("cudaMalloc", calls.malloc) && library.find("cudaFree", calls.free) &&
         library.find("cudaHostRegister", calls.host_register) &&
         library.find("cudaHostUnregister", calls.host_unregister) &&
         library.find("cudaStreamCreateWithFlags", calls.stream_create) &&
         library.find("cudaStreamDestroy", calls.stream_destroy) &&
         library.find("cudaMemcpyAsync", calls.memcpy_async) &&
         library.find("cudaEventCreateWithFlags", calls.event_create) &&
         library.find("cudaEventRecord", calls.event_record) &&
         library.find("cudaEventSynchronize", calls.event_synchronize) &&
         library.find("cudaEventQuery", calls.event_query) && library.find("cudaEventDestroy", calls.event_destroy);
}

Error no_use_of_driver(const CudaRuntime& calls) {
  int driver = 0, runtime = 0;
  calls.driver_version(&driver);  // gotchas G2
  calls.runtime_version(&runtime);
  if (driver == 0) return {ErrorCode::kDeviceUnavailable, "no NVIDIA driver is loaded on this node", {}, {}};
  return {ErrorCode::kDeviceUnavailable,
          "the driver of this node knows CUDA up to " + version_words(driver) + ", the runtime is of " +
              version_words(runtime),
          "Install a runtime of CUDA " + std::to_string(driver / 1000) + ", or ask the admin for a newer driver.",
          {{"driver", version_words(driver)}, {"runtime", version_words(runtime)}}};
}

Result<void> count_devices(CudaRuntime& calls) {
  const int code = calls.device_count(&calls.count);
  if (code == cuda::kInsufficientDriver) return failure(no_use_of_driver(calls));
  if (code == cuda::kNoDevice || (code == cuda::kSuccess && calls.count == 0))
    return failure(ErrorCode::kDeviceUnavailable, "CUDA sees no GPU here");
  return calls.check(code, "count the devices");
}

Result<std::shared_ptr<const CudaRuntime>> opened(SharedLibrary library) {
  const auto calls = std::make_shared<CudaRuntime>();
  if (!find_all(library, *calls))
    return failure(ErrorCode::kDeviceUnavailable, library.name() + " has no function " + library.missing(),
                   kNoRuntimeRemedy);
  if (auto counted = count_devices(*calls); !counted) return failure(counted.error());
  return calls;
}

}  // namespace

Result<void> CudaRuntime::check(int code, std::string_view doing) const {
  if (code == cuda::kSuccess) return {};
  last_error();  // gotchas G1
  return failure(cuda_error(code, doing, error_string(code)));
}

Result<std::shared_ptr<const CudaRuntime>> CudaRuntime::open(const std::vector<std::string>& libraries) {
  std::optional<Error> first;
  std::string why;
  for (const std::string& name : libraries) {
    std::string words;
    auto library = SharedLibrary::open(name, &words);
    if (!library) {
      why += (why.empty() ? "" : "; ") + words;
      continue;
    }
    auto calls = opened(std::move(*library));
    if (calls) return calls;
    if (!first) first = calls.error();
  }
  if (first) return failure(*first);
  return failure(ErrorCode::kDeviceUnavailable, "there is no CUDA runtime here: " + why, kNoRuntimeRemedy);
}

}  // namespace pounce::device
