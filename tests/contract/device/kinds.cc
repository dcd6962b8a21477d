#include "contract/device/kinds.h"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>

#include "device/device.h"
#include "device/driver.h"

namespace pounce::device {
namespace {

template <class Function>
Function function_of(const std::string& library, const char* name) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* found = handle == nullptr ? nullptr : ::dlsym(handle, name);
  if (found == nullptr) throw std::runtime_error(::dlerror());
  return reinterpret_cast<Function>(found);
}

Result<std::unique_ptr<Backend>> real_cuda() {
  CudaLibraries libraries;
#ifdef POUNCE_CUDA_RUNTIME
  libraries.runtime.insert(libraries.runtime.begin(), POUNCE_CUDA_RUNTIME);
#endif
  return cuda_backend(libraries);
}

}  // namespace

std::string built(const char* library) {
  std::error_code none;
  if (std::filesystem::exists(library, none)) return library;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / std::filesystem::path(library).filename();
}

void PrintTo(Kind kind, std::ostream* out) {
  *out << (kind == Kind::kHost ? "host" : kind == Kind::kFakeCuda ? "fake_cuda" : "cuda");
}

Result<std::unique_ptr<Backend>> open_backend(Kind kind) {
  if (kind == Kind::kHost) return host_backend({.devices = 4, .memory_bytes = 64 * kMiB});
  if (kind == Kind::kFakeCuda)
    return cuda_backend({.runtime = {built(POUNCE_FAKE_CUDA)}, .nccl = {built(POUNCE_FAKE_NCCL)}});
  auto real = real_cuda();
  if (!real) return failure(ErrorCode::kDeviceUnavailable, "not run: " + real.error().text);
  if (!has_device_checksum())
    return failure(ErrorCode::kDeviceUnavailable,
                   "not run: nvcc was not there to compile what looks at a GPU's memory");
  return real;
}

FakeCuda& fake_cuda() {
  static FakeCuda& fake = *function_of<FakeCudaFunction>(built(POUNCE_FAKE_CUDA), "fake_cuda")();
  return fake;
}

FakeNccl& fake_nccl() {
  static FakeNccl& fake = *function_of<FakeNcclFunction>(built(POUNCE_FAKE_NCCL), "fake_nccl")();
  return fake;
}

void reset_fakes() {
  FakeCuda& cuda = fake_cuda();
  cuda.devices = 4, cuda.driver_version = cuda.runtime_version = 13000, cuda.memory_bytes = 64 * kMiB;
  cuda.fails.clear(), cuda.lost = 0, cuda.last_error = 0, cuda.copies = 0;
  cuda.calls.clear(), cuda.troubles.clear(), cuda.used_devices.clear();
  fake_nccl().version = 22700, fake_nccl().fails_with = 0, fake_nccl().aborted = 0;
}

void expect_nothing_left() {
  const FakeCuda& cuda = fake_cuda();
  EXPECT_EQ(cuda.allocations, 0u);
  EXPECT_EQ(cuda.registrations, 0u);
  EXPECT_EQ(cuda.streams, 0u);
  EXPECT_EQ(cuda.events, 0u);
  EXPECT_EQ(cuda.last_error, cuda.lost.load());
  EXPECT_EQ(cuda.troubles, std::vector<std::string>());
  EXPECT_EQ(fake_nccl().communicators, 0u);
}

std::vector<std::byte> pattern(std::size_t size, std::uint8_t seed) {
  std::vector<std::byte> bytes(size);
  std::uint64_t state = seed;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += (static_cast<std::uint64_t>(bytes[i]) + 1) * (2 * i + 1);
  return sum;
}

#ifdef POUNCE_CHECKSUM

bool has_device_checksum() { return true; }

std::uint64_t checksum_on_device(Kind kind, const Buffer& buffer) {
  if (kind != Kind::kCuda) return checksum({buffer.data(), buffer.size()});
  using Checksum = int (*)(int device, const void* memory, std::uint64_t size, std::uint64_t* sum);
  static const auto ask = function_of<Checksum>(built(POUNCE_CHECKSUM), "pounce_checksum");
  std::uint64_t sum = 0;
  EXPECT_EQ(ask(static_cast<int>(buffer.device().ordinal().value), buffer.data(), buffer.size(), &sum), 0);
  return sum;
}

#else

bool has_device_checksum() { return false; }

std::uint64_t checksum_on_device(Kind, const Buffer& buffer) { return checksum({buffer.data(), buffer.size()}); }

#endif

}  // namespace pounce::device
