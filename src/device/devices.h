// The devices of this process. Each is opened at its first use and kept: a context on a GPU takes hundreds of MiB of
// its memory, which a process that uses no device does not pay. Thread: any.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/cuda_backend.h"
#include "device/device.h"
#include "device/device_name.h"

namespace pounce::device {

class Devices {
 public:
  // package_folders: where packages are installed; NVIDIA's libraries are looked for there too, besides the loader's
  // own places.
  explicit Devices(const std::vector<std::string>& package_folders = {});

  Result<std::shared_ptr<Device>> open(const DeviceName& name);  // the first call may take seconds
  Result<GroupId> new_group(DeviceName::Kind kind);
  Result<std::vector<DeviceFacts>> visible(DeviceName::Kind kind);  // the devices that this process sees

  // The use of each opened device.
  std::map<DeviceName, MemoryUse> use() const;

 private:
  Result<Backend*> backend(DeviceName::Kind kind);

  const CudaLibraries libraries_;
  mutable std::mutex mutex_;  // guards the members below; held while a device opens, so a request for another one waits
  std::map<DeviceName::Kind, std::unique_ptr<Backend>> backends_;
  std::map<DeviceName, std::shared_ptr<Device>> opened_;
};

// By name, then at the places below each of these folders where pip puts them.
CudaLibraries cuda_libraries(const std::vector<std::string>& package_folders);

}  // namespace pounce::device
