// Stands in for the driver's library: two GPUs that NVLink joins, a slice of one that tells no use, and one that has
// failed. A unit test tells it what happens by fake_nvml(), or by files in $FAKE_NVML; a test of other processes by
// files in the folder that it was loaded from: "xid-1" with a number in it is a report of the second GPU, and is taken
// away with it; "lost-1" a GPU that is gone; while there is "hang" no call returns.
#include "support/fake_nvml.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

namespace {

struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
enum Gpu : long { kFirst, kSecond, kSlice, kFailed };
Gpu gpus[] = {kFirst, kSecond, kSlice, kFailed};
struct Event {
  Gpu* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

pounce::device::FakeNvml fake;
bool asked_for_reports[4] = {};

constexpr int kNotSupported = 3, kTimeout = 10, kLost = 15;

std::string folder() {
  if (const char* named = std::getenv("FAKE_NVML")) return named;
  Dl_info self{};
  ::dladdr(&fake, &self);
  const std::string path = self.dli_fname;
  return path.substr(0, path.rfind('/'));
}

std::string told(const char* what, long gpu = -1) {
  return folder() + "/" + what + (gpu < 0 ? "" : "-" + std::to_string(gpu));
}

bool is_told(const char* what, long gpu = -1) { return ::access(told(what, gpu).c_str(), F_OK) == 0; }

void hang_if_told() {
  while (is_told("hang")) ::pause();
}

// A report of that GPU, once.
unsigned long long fetched_xid(long gpu) {
  unsigned long long xid = 0;
  if (!is_told("xid", gpu)) return 0;
  std::ifstream(told("xid", gpu)) >> xid;
  ::unlink(told("xid", gpu).c_str());
  return xid;
}

int tell(char* to, unsigned size, const char* text) {
  if (std::strlen(text) >= size) return 7;  // the room is too small
  std::strcpy(to, text);
  return 0;
}

}  // namespace

extern "C" {

pounce::device::FakeNvml* fake_nvml() { return &fake; }

int nvmlInit_v2() { return hang_if_told(), 0; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu** device) {
  if (index > kSecond) return 2;
  if (is_told("lost", index)) return kLost;
  *device = &gpus[index];
  return 0;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, Gpu** device) {
  const std::string_view name(uuid);
  if (name != "MIG-slice" && name != "GPU-failed") return 6;
  *device = &gpus[name == "MIG-slice" ? kSlice : kFailed];
  return 0;
}

int nvmlDeviceGetUtilizationRates(Gpu* device, Utilization* is) {
  while (*device == kFailed) ::pause();
  hang_if_told();
  is->gpu = *device == kFirst ? 90 : 30;
  return *device == kSlice ? kNotSupported : 0;
}

int nvmlDeviceGetMemoryInfo_v2(Gpu* device, Memory* is) {
  if (is->version != (sizeof(Memory) | (2u << 24))) return 25;  // the caller's layout is another one
  if ((*device == kSecond && fake.second_is_lost) || is_told("lost", *device)) return kLost;
  is->total = 80ull << 30;
  is->used = (*device == kFirst ? 3ull : 5ull) << 30;
  is->free = is->total - is->used - (1ull << 30);  // what the driver keeps
  return 0;
}

int nvmlDeviceGetUUID(Gpu* device, char* uuid, unsigned size) {
  constexpr const char* kUuids[] = {"GPU-first", "GPU-second", "MIG-slice", "GPU-failed"};
  return tell(uuid, size, kUuids[*device]);
}

int nvmlDeviceGetName(Gpu* device, char* name, unsigned size) {
  return tell(name, size, *device == kSlice ? "Fake GPU MIG 3g.40gb" : "Fake GPU");
}

int nvmlSystemGetDriverVersion(char* version, unsigned size) { return tell(version, size, "580.65.06"); }

int nvmlDeviceGetMigMode(Gpu* device, unsigned* now, unsigned* later) {
  *now = 0, *later = 1;
  return *device == kSlice ? kNotSupported : 0;
}

int nvmlDeviceGetP2PStatus(Gpu* one, Gpu* other, int over, int* status) {
  *status = over == 2 && *one <= kSecond && *other <= kSecond ? 0 : 5;
  return 0;
}

int nvmlDeviceGetMemoryAffinity(Gpu* device, unsigned words, unsigned long* nodes, unsigned scope) {
  if (words != 1 || scope != 0 || *device == kSlice) return kNotSupported;
  *nodes = *device == kFirst ? 0b10 : 0b100;
  return 0;
}

int nvmlDeviceGetTotalEccErrors(Gpu* device, int type, int counter, unsigned long long* errors) {
  if (type != 1 || counter != 0 || *device == kSlice) return kNotSupported;
  *errors = *device == kFirst ? 0 : 2;
  return 0;
}

int nvmlEventSetCreate(void** set) { return ++fake.sets, *set = &fake, 0; }

int nvmlEventSetFree(void*) { return --fake.sets, 0; }

int nvmlDeviceRegisterEvents(Gpu* device, unsigned long long types, void* set) {
  if (*device == kSlice || set != &fake || types != (2 | 8)) return kNotSupported;
  asked_for_reports[*device] = true;
  return 0;
}

int nvmlEventSetWait_v2(void*, Event* event, unsigned) {
  for (const Gpu gpu : {kFirst, kSecond})
    if (const auto xid = asked_for_reports[gpu] ? fetched_xid(gpu) : 0) return *event = {&gpus[gpu], 8, xid, 0, 0}, 0;
  if (fake.reported == 0) return kTimeout;
  const auto* next = fake.reports[--fake.reported];
  if (!asked_for_reports[next[0]]) return kTimeout;
  *event = {&gpus[next[0]], next[1], next[2], 0, 0};
  return 0;
}

}  // extern "C"
