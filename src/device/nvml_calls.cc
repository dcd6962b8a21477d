#include "device/nvml_calls.h"

#include "device/shared_library.h"

namespace pounce::device {

std::optional<Nvml::Calls> Nvml::Calls::find(const std::string& name) {
  auto library = SharedLibrary::open(name);
  if (!library) return std::nullopt;
  Calls calls;
  const bool complete = library->find("nvmlInit_v2", calls.init) &&
                        library->find("nvmlDeviceGetHandleByIndex_v2", calls.by_index) &&
                        library->find("nvmlDeviceGetHandleByUUID", calls.by_uuid) &&
                        library->find("nvmlDeviceGetUtilizationRates", calls.utilization) &&
                        library->find("nvmlDeviceGetMemoryInfo_v2", calls.memory);
  if (!complete) return std::nullopt;
  library->find("nvmlDeviceGetUUID", calls.uuid);
  library->find("nvmlDeviceGetName", calls.name);
  library->find("nvmlSystemGetDriverVersion", calls.driver);
  library->find("nvmlDeviceGetMigMode", calls.mig_mode);
  library->find("nvmlDeviceGetP2PStatus", calls.p2p_status);
  library->find("nvmlDeviceGetMemoryAffinity", calls.memory_affinity);
  library->find("nvmlDeviceGetTotalEccErrors", calls.ecc_errors);
  library->find("nvmlEventSetCreate", calls.event_set_create);
  library->find("nvmlDeviceRegisterEvents", calls.register_events);
  library->find("nvmlEventSetWait_v2", calls.event_set_wait);
  library->find("nvmlEventSetFree", calls.event_set_free);
  return calls;
}

}  // namespace pounce::device
