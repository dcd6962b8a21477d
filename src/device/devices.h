// The devices of this process, each opened when it is first asked for and kept: a context on a GPU takes hundreds of
// MiB of it, which nobody pays who asks for none. Thread: any.
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
  // Where NVIDIA's libraries are looked for beside the loader's own places: folders that packages are installed in.
  explicit Devices(const std::vector<std::string>& package_folders = {});

  Result<std::shared_ptr<Device>> open(const DeviceName& name);  // the first time it may take seconds
  Result<GroupId> new_group(DeviceName::Kind kind);
  Result<std::vector<DeviceFacts>> visible(DeviceName::Kind kind);  // to this process

  // Each that was opened.
  std::map<DeviceName, MemoryUse> use() const;

 private:
  Result<Backend*> backend(DeviceName::Kind kind);

  const CudaLibraries libraries_;
  mutable std::mutex mutex_;  // guards what is below; whoever wants another device meanwhile waits too
  std::map<DeviceName::Kind, std::unique_ptr<Backend>> backends_;
  std::map<DeviceName, std::shared_ptr<Device>> opened_;
};

// By name, then where pip puts them, below each of these folders.
CudaLibraries cuda_libraries(const std::vector<std::string>& package_folders);

}  // namespace pounce::device
