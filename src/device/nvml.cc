#include "device/nvml.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <sstream>

#include "device/shared_library.h"

namespace pounce::device {
namespace {

constexpr char kAnotherGpu[] = "Submit again: another worker has another GPU. Show the admin this node.";

Error gpu_failed(const std::string& uuid, const std::string& why) {
  return {ErrorCode::kDeviceFailed, "the GPU " + uuid + " failed: " + why, kAnotherGpu, {{"gpu", uuid}}};
}

}  // namespace

// From NVIDIA's "XID Errors", the catalogue's immediate actions: RESTART_APP means the program, RESET_GPU and beyond
// the GPU.
XidMeaning meaning_of_xid(std::uint64_t xid) {
  switch (xid) {
    case 13:  // exception of the graphics engine, as an assertion or an illegal address in a kernel causes
    case 31:  // memory management fault
    case 43:  // stopped processing
    case 45:  // work was removed when its program ended
    case 69:  // graphics engine class error
      return XidMeaning::kProgram;
    case 48:   // error of the memory, not corrected
    case 62:   // its microcontroller halted
    case 64:   // a row of memory could not be replaced
    case 74:   // NVLink
    case 79:   // fallen off the bus
    case 95:   // error of the memory, not contained
    case 119:  // its system processor (GSP) does not answer
    case 120:  // its system processor failed
    case 140:  // error of the memory, not recovered
      return XidMeaning::kGpu;
    default:
      return XidMeaning::kUnknown;
  }
}

std::optional<Error> failure_of(const std::string& uuid, const GpuHealth& health) {
  if (health.gone) return gpu_failed(uuid, "its driver does not reach it any more");
  for (const std::uint64_t xid : health.xids)
    if (meaning_of_xid(xid) == XidMeaning::kGpu) {
      Error error = gpu_failed(uuid, "its driver reports Xid " + std::to_string(xid));
      error.context["xid"] = std::to_string(xid);
      return error;
    }
  if (health.memory_failed) return gpu_failed(uuid, "an error of its memory could not be corrected (ECC)");
  return std::nullopt;
}

// NVML's functions that we call, by the names and layouts of its API reference.

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

namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
constexpr unsigned kTextBytes = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE, the largest of the texts that are read

}  // namespace

std::optional<Nvml> Nvml::open(const std::string& library) {
  const auto calls = Calls::find(library);
  if (!calls || calls->init() != nvml::kSuccess) return std::nullopt;
  return Nvml(std::make_shared<const Calls>(*calls));
}

std::vector<Nvml::Device> Nvml::devices(const std::string& visible, std::vector<std::string>* lost) const {
  std::vector<Device> devices;
  std::istringstream words(visible);
  for (std::string word; std::getline(words, word, ',');) {
    char* end = nullptr;
    const unsigned long index = std::strtoul(word.c_str(), &end, 10);
    const bool is_index = end != word.c_str() && *end == '\0';
    Device device = nullptr;
    const int code =
        is_index ? calls_->by_index(static_cast<unsigned>(index), &device) : calls_->by_uuid(word.c_str(), &device);
    if (code == nvml::kSuccess) devices.push_back(device);
    if (code == nvml::kGpuIsLost && lost != nullptr) lost->push_back(word);
  }
  return devices;
}

std::vector<Nvml::Device> Nvml::all() const {
  std::vector<Device> devices;
  for (Device device = nullptr; calls_->by_index(static_cast<unsigned>(devices.size()), &device) == nvml::kSuccess;)
    devices.push_back(device);
  return devices;
}

std::vector<std::string> Nvml::uuids(const std::vector<Device>& devices) const {
  std::vector<std::string> all;
  for (const Device device : devices) {
    char text[kTextBytes] = {};
    nvml::ask(calls_->uuid, device, text, kTextBytes);
    all.emplace_back(text);
  }
  return all;
}

Nvml::Look Nvml::look(Device device) const {
  Look look;
  if (nvml::Utilization is{}; nvml::ask(calls_->utilization, device, &is)) look.percent = is.gpu;
  if (nvml::Memory is{nvml::kMemoryVersion, 0, 0, 0, 0}; nvml::ask(calls_->memory, device, &is))
    look.used_mib = is.used / kMiB, look.total_mib = is.total / kMiB;
  return look;
}

std::vector<DeviceFacts> Nvml::facts(const std::vector<Device>& devices) const {
  std::vector<DeviceFacts> all;
  for (const Device device : devices) all.push_back(facts_of(device));
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < all.size(); ++j)
      if (int status = 0; i != j && nvml::ask(calls_->p2p_status, devices[i], devices[j], nvml::kOverNvlink, &status) &&
                          status == nvml::kReachable)
        all[i].nvlink_peers.push_back(all[j].uuid);
  return all;
}

DeviceFacts Nvml::facts_of(Device device) const {
  DeviceFacts facts;
  char text[kTextBytes] = {};
  if (nvml::ask(calls_->uuid, device, text, kTextBytes)) facts.uuid = text;
  if (nvml::ask(calls_->name, device, text, kTextBytes)) facts.model = text;
  if (nvml::ask(calls_->driver, text, kTextBytes)) facts.driver = text;
  if (nvml::Memory is{nvml::kMemoryVersion, 0, 0, 0, 0}; nvml::ask(calls_->memory, device, &is))
    facts.memory = {is.free, is.total};
  if (unsigned now = 0, later = 0; nvml::ask(calls_->mig_mode, device, &now, &later)) facts.sliced = now != 0;
  if (unsigned long nodes = 0; nvml::ask(calls_->memory_affinity, device, 1u, &nodes, nvml::kNodeScope) && nodes != 0)
    facts.numa_node = static_cast<std::uint32_t>(std::countr_zero(nodes));
  if (unsigned long long errors = 0;
      nvml::ask(calls_->ecc_errors, device, nvml::kUncorrected, nvml::kSinceLoaded, &errors))
    facts.uncorrected_errors = errors;
  return facts;
}

// The driver keeps its reports (Xid, ECC) for those that registered beforehand, until they are fetched.
struct Nvml::Reports {
  explicit Reports(std::shared_ptr<const Calls> calls) : calls(std::move(calls)) {
    if (!nvml::ask(this->calls->event_set_create, &set)) set = nullptr;
  }
  ~Reports() {
    if (set != nullptr) nvml::ask(calls->event_set_free, set);
  }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  void ask_for(Device device) {
    if (set == nullptr || std::find(registered.begin(), registered.end(), device) != registered.end()) return;
    nvml::ask(calls->register_events, device, nvml::kXidEvent | nvml::kMemoryErrorEvent, set);
    registered.push_back(device);
  }

  std::optional<nvml::Event> next() const {
    nvml::Event event{};
    return set != nullptr && nvml::ask(calls->event_set_wait, set, &event, 0u) ? std::optional(event) : std::nullopt;
  }

  std::shared_ptr<const Calls> calls;
  void* set = nullptr;
  std::vector<Device> registered;
};

std::vector<GpuHealth> Nvml::health(const std::vector<Device>& devices) {
  constexpr int kMostReports = 64;  // a failing GPU may report faster than we read
  if (reports_ == nullptr) reports_ = std::make_shared<Reports>(calls_);
  std::vector<GpuHealth> all(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    reports_->ask_for(devices[i]);
    nvml::Memory is{nvml::kMemoryVersion, 0, 0, 0, 0};
    all[i].gone = calls_->memory(devices[i], &is) == nvml::kGpuIsLost;
  }
  for (int i = 0; i < kMostReports; ++i) {
    const auto event = reports_->next();
    if (!event) break;
    const auto of = std::find(devices.begin(), devices.end(), event->device);
    if (of == devices.end()) continue;
    GpuHealth& health = all[static_cast<std::size_t>(of - devices.begin())];
    if (event->type == nvml::kXidEvent) health.xids.push_back(event->data);
    if (event->type == nvml::kMemoryErrorEvent) health.memory_failed = true;
  }
  return all;
}

}  // namespace pounce::device
