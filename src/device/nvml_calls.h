// NVML's functions that we call, by the names and layouts of its API reference. For this folder only.
#pragma once

#include <optional>
#include <string>

#include "device/nvml.h"

namespace pounce::device {

namespace nvml {

inline constexpr int kSuccess = 0, kGpuIsLost = 15;                        // nvmlReturn_t
inline constexpr unsigned long long kMemoryErrorEvent = 2, kXidEvent = 8;  // nvmlEventType…
inline constexpr int kUncorrected = 1, kSinceLoaded = 0;  // nvmlMemoryErrorType_t, nvmlEccCounterType_t
inline constexpr int kOverNvlink = 2, kReachable = 0;     // nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t
inline constexpr unsigned kNodeScope = 0;                 // nvmlAffinityScope_t

struct Utilization {  // nvmlUtilization_t
  unsigned gpu, memory;
};
struct Memory {  // nvmlMemory_v2_t; `used` excludes what the driver reserves
  unsigned version;
  unsigned long long total, reserved, free, used;
};
inline constexpr unsigned kMemoryVersion = sizeof(Memory) | (2u << 24);  // NVML_STRUCT_VERSION(Memory, 2)
struct Event {                                                           // nvmlEventData_t
  Nvml::Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

// False: an older driver lacks the function, or does not answer for this device.
template <class... Parameters, class... Arguments>
bool ask(int (*function)(Parameters...), Arguments... arguments) {
  return function != nullptr && function(arguments...) == kSuccess;
}

}  // namespace nvml

struct Nvml::Calls {
  int (*init)();
  int (*by_index)(unsigned, Device*);
  int (*by_uuid)(const char*, Device*);
  int (*utilization)(Device, nvml::Utilization*);
  int (*memory)(Device, nvml::Memory*);
  // These are optional: without them less is known.
  int (*uuid)(Device, char*, unsigned);
  int (*name)(Device, char*, unsigned);
  int (*driver)(char*, unsigned);
  int (*mig_mode)(Device, unsigned* now, unsigned* later);
  int (*p2p_status)(Device, Device, int, int*);
  int (*memory_affinity)(Device, unsigned words, unsigned long* nodes, unsigned scope);
  int (*ecc_errors)(Device, int type, int counter, unsigned long long*);
  int (*event_set_create)(void**);
  int (*register_events)(Device, unsigned long long types, void* set);
  int (*event_set_wait)(void* set, nvml::Event*, unsigned milliseconds);
  int (*event_set_free)(void* set);

  static std::optional<Calls> find(const std::string& library);
};

}  // namespace pounce::device
