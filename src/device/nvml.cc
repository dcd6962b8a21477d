#include "device/nvml.h"

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>

namespace pounce::device {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

struct Utilization {  // nvmlUtilization_t
  unsigned gpu, memory;
};
struct Memory {  // nvmlMemory_v2_t; `used` is without what the driver keeps for itself
  unsigned version;
  unsigned long long total, reserved, free, used;
};
constexpr unsigned kMemoryVersion = sizeof(Memory) | (2u << 24);  // NVML_STRUCT_VERSION(Memory, 2)

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

struct Nvml::Calls {
  int (*init)();
  int (*by_index)(unsigned, Device*);
  int (*by_uuid)(const char*, Device*);
  int (*utilization)(Device, Utilization*);
  int (*memory)(Device, Memory*);
};

std::optional<Nvml> Nvml::open(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: it may have threads of its own
  if (handle == nullptr) return std::nullopt;
  Calls calls;
  const bool complete = find(handle, "nvmlInit_v2", calls.init) && find(handle, "nvmlDeviceGetHandleByIndex_v2", calls.by_index) &&
                        find(handle, "nvmlDeviceGetHandleByUUID", calls.by_uuid) &&
                        find(handle, "nvmlDeviceGetUtilizationRates", calls.utilization) &&
                        find(handle, "nvmlDeviceGetMemoryInfo_v2", calls.memory);
  if (!complete || calls.init() != 0) return std::nullopt;
  return Nvml(std::make_shared<const Calls>(calls));
}

std::vector<Nvml::Device> Nvml::devices(const std::string& visible) const {
  std::vector<Device> devices;
  std::istringstream words(visible);
  for (std::string word; std::getline(words, word, ',');) {
    char* end = nullptr;
    const unsigned long index = std::strtoul(word.c_str(), &end, 10);
    const bool is_index = end != word.c_str() && *end == '\0';
    Device device = nullptr;
    const int code = is_index ? calls_->by_index(static_cast<unsigned>(index), &device) : calls_->by_uuid(word.c_str(), &device);
    if (code == 0) devices.push_back(device);
  }
  return devices;
}

Nvml::Look Nvml::look(Device device) const {
  Look look;
  if (Utilization is{}; calls_->utilization(device, &is) == 0) look.percent = is.gpu;
  if (Memory is{kMemoryVersion, 0, 0, 0, 0}; calls_->memory(device, &is) == 0)
    look.used_mib = is.used / kMiB, look.total_mib = is.total / kMiB;
  return look;
}

}  // namespace pounce::device
