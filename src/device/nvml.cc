#include "device/nvml.h"

#include <bit>
#include <cstdlib>
#include <sstream>

#include "device/nvml_calls.h"

namespace pounce::device {
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
  for (Device device = nullptr; calls_->by_index(static_cast<unsigned>(devices.size()), &device) == nvml::kSuccess;) devices.push_back(device);
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

}  // namespace pounce::device
