// The devices of this process by name, each opened at its first use and kept: a context on a GPU takes hundreds of MiB
// of it, which a process pays only for the devices that it uses. Thread: any.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "device/driver.h"
#include "pounce/error.h"

namespace pounce::device {

// A device by the word that people write: "cuda", "cuda:1", "host". Pure.
struct DeviceName {
  enum class Kind : std::uint8_t { kHost, kCuda };

  Kind kind = Kind::kHost;
  Ordinal which{};  // among those that the process sees

  static Result<DeviceName> parse(std::string_view word);
  std::string text() const;  // with its number: "cuda:0"

  friend auto operator<=>(const DeviceName&, const DeviceName&) = default;
};

class Devices {
 public:
  // package_folders: where packages are installed; NVIDIA's libraries are looked for there too, besides the loader's
  // own places. leased: the GPUs of this process's lease in words, "GPU 0,1"; empty: it requested none.
  explicit Devices(const std::vector<std::string>& package_folders = {}, std::string leased = {});

  Result<std::shared_ptr<Device>> open(const DeviceName& name);  // the first call may take seconds
  Result<GroupId> new_group(DeviceName::Kind kind);
  Result<std::vector<DeviceFacts>> visible(DeviceName::Kind kind);  // the devices that this process sees

  // The use of each opened device.
  std::map<DeviceName, MemoryUse> use() const;

 private:
  Result<Backend*> backend(DeviceName::Kind kind);

  const CudaLibraries libraries_;
  const std::string leased_;
  mutable std::mutex mutex_;  // guards the members below; held while a device opens, so a request for another one waits
  std::map<DeviceName::Kind, std::unique_ptr<Backend>> backends_;
  std::map<DeviceName, std::shared_ptr<Device>> opened_;
};

// By name, then at the places below each of these folders where pip puts them.
CudaLibraries cuda_libraries(const std::vector<std::string>& package_folders);

// A device that cannot be used: the code's own remedy is to request a GPU, which a lease with GPUs has done. Pure.
Error advised(Error error, const std::string& leased);

// Checks that a process sees the devices that it was given, and that each rank has its own. Pure.

// UUIDs, in any order. Where they differ nothing may run: a program would use GPUs that Slurm gave to another user.
Result<void> only_leased(const std::vector<std::string>& visible, const std::vector<std::string>& leased);

// By rank: the UUID of the device that it uses.
Result<void> one_rank_each(const std::vector<std::string>& of_ranks);

}  // namespace pounce::device
