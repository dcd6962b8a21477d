#include "device/devices.h"

#include "device/host_backend.h"

namespace pounce::device {

CudaLibraries cuda_libraries(const std::vector<std::string>& package_folders) {
  CudaLibraries libraries;
  for (const std::string& folder : package_folders) {
    libraries.runtime.push_back(folder + "/nvidia/cu13/lib/libcudart.so.13");
    libraries.runtime.push_back(folder + "/nvidia/cuda_runtime/lib/libcudart.so.12");
    libraries.nccl.push_back(folder + "/nvidia/nccl/lib/libnccl.so.2");
  }
  return libraries;
}

Devices::Devices(const std::vector<std::string>& package_folders) : libraries_(cuda_libraries(package_folders)) {}

Result<Backend*> Devices::backend(DeviceName::Kind kind) {
  std::unique_ptr<Backend>& known = backends_[kind];
  if (known != nullptr) return known.get();
  if (kind == DeviceName::Kind::kHost) {
    known = host_backend();
  } else {
    auto cuda = cuda_backend(libraries_);
    if (!cuda) return failure(cuda.error());
    known = std::move(*cuda);
  }
  return known.get();
}

Result<std::shared_ptr<Device>> Devices::open(const DeviceName& name) {
  const std::lock_guard held(mutex_);
  std::shared_ptr<Device>& known = opened_[name];
  if (known != nullptr) return known;
  auto kind = backend(name.kind);
  if (!kind) return failure(kind.error());
  auto opened = Device::open(**kind, name.which);
  if (opened) known = *opened;
  return opened;
}

Result<GroupId> Devices::new_group(DeviceName::Kind kind) {
  const std::lock_guard held(mutex_);
  return backend(kind).and_then([](Backend* known) { return known->new_group(); });
}

Result<std::vector<DeviceFacts>> Devices::visible(DeviceName::Kind kind) {
  const std::lock_guard held(mutex_);
  return backend(kind).and_then([](Backend* known) { return known->devices(); });
}

std::map<DeviceName, MemoryUse> Devices::use() const {
  const std::lock_guard held(mutex_);
  std::map<DeviceName, MemoryUse> all;
  for (const auto& [name, device] : opened_)
    if (device != nullptr) all[name] = device->use();
  return all;
}

}  // namespace pounce::device
