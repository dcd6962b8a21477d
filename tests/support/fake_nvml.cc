// Stands in for the driver's library in unit tests: two GPUs, a slice of one that tells no use, and one that has failed.
#include <unistd.h>

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

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu** device) {
  if (index > kSecond) return 2;
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
  is->gpu = *device == kFirst ? 90 : 30;
  return *device == kSlice ? 3 : 0;
}

int nvmlDeviceGetMemoryInfo_v2(Gpu* device, Memory* is) {
  if (is->version != (sizeof(Memory) | (2u << 24))) return 25;  // the caller's layout is another one
  is->total = 80ull << 30;
  is->used = (*device == kFirst ? 3ull : 5ull) << 30;
  return 0;
}

}  // extern "C"
