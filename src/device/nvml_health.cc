// The driver keeps its reports (Xid, ECC) until they are fetched, for processes that registered beforehand.
#include <algorithm>

#include "device/nvml_calls.h"

namespace pounce::device {

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
