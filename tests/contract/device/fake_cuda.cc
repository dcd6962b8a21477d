// A CUDA runtime of ours, loaded as NVIDIA's is. Its devices' memory is this machine's. A copy is done as late as it
// may be, when somebody waits for it: who overwrites or frees memory too early gets wrong bytes, and a trouble is
// noted.
#include "contract/device/fake_cuda.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

using pounce::device::FakeCuda;

namespace {

struct Copy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t size = 0, number = 0;
  bool touches(const std::byte* memory, std::size_t bytes) const {
    return (to < memory + bytes && memory < to + size) || (from < memory + bytes && memory < from + size);
  }
};
struct Stream {
  std::deque<Copy> waiting;
  void run_to(std::size_t number) {
    for (; !waiting.empty() && waiting.front().number <= number; waiting.pop_front())
      std::memcpy(waiting.front().to, waiting.front().from, waiting.front().size);
  }
};
struct Event {
  Stream* stream = nullptr;
  std::size_t number = 0;  // of the copy that it follows
  bool asked = false;      // the first question comes too early
};

// Where it is another process that wants it otherwise.
struct FromEnvironment : FakeCuda {
  FromEnvironment() {
    if (const char* version = std::getenv("FAKE_CUDA_DRIVER")) driver_version = std::atoi(version);
  }
};
FromEnvironment fake;
std::map<std::byte*, std::size_t> allocated, registered;
std::set<Stream*> streams;
std::size_t used[16];
std::map<std::byte*, int> owner;
thread_local int current = -1;

constexpr int kInvalidValue = 1, kNoMemory = 2, kInsufficientDriver = 35, kNoDevice = 100, kInvalidDevice = 101,
              kNotReady = 600;

bool within(const std::map<std::byte*, std::size_t>& ranges, const void* memory, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(memory);
  for (const auto& [begin, bytes] : ranges)
    if (begin <= first && first + size <= begin + bytes) return true;
  return false;
}

bool is_copied(const std::byte* memory, std::size_t size) {
  if (fake.lost != 0) return false;  // it does nothing any more
  for (const Stream* stream : streams)
    for (const Copy& copy : stream->waiting)
      if (copy.touches(memory, size)) return true;
  return false;
}

// What every call has in common: its failures, and the thread's device.
int call(const char* name, const std::function<int()>& act, bool of_device = true) {
  const std::lock_guard held(fake.lock);
  if (of_device && current < 0) fake.troubles.push_back(std::string(name) + " on a thread that has no device");
  const int does = act();
  int code = fake.lost != 0 ? fake.lost.load() : does;
  if (fake.fails == name) {
    code = fake.fails_with;
    fake.fails.clear();
  }
  if (code != 0) fake.last_error = code;
  return code;
}

bool will_fail(const char* name) { return fake.lost != 0 || fake.fails == name; }  // and so do nothing

}  // namespace

extern "C" {

FakeCuda* fake_cuda() { return &fake; }

int cudaGetDeviceCount(int* count) {
  return call(
      "cudaGetDeviceCount",
      [&] {
        if (fake.driver_version < fake.runtime_version) return kInsufficientDriver;
        *count = fake.devices;
        return fake.devices == 0 ? kNoDevice : 0;
      },
      false);
}

int cudaDriverGetVersion(int* version) {
  *version = fake.driver_version;
  return 0;
}

int cudaRuntimeGetVersion(int* version) {
  *version = fake.runtime_version;
  return 0;
}

int cudaGetDeviceProperties(std::byte* properties, int device) {
  return call(
      "cudaGetDeviceProperties",
      [&] {
        std::memset(properties, 0, 1008);
        std::strcpy(reinterpret_cast<char*>(properties), "Fake GPU");
        for (int i = 0; i < 16; ++i) properties[256 + i] = static_cast<std::byte>(i == 15 ? device : i);
        std::memcpy(properties + 288, &fake.memory_bytes, sizeof fake.memory_bytes);
        return 0;
      },
      false);
}

int cudaSetDevice(int device) {
  return call(
      "cudaSetDevice",
      [&] {
        if (device < 0 || device >= fake.devices) return kInvalidDevice;
        current = device;
        fake.used_devices.push_back(device);
        return 0;
      },
      false);
}

const char* cudaGetErrorString(int code) {
  return code == kNoMemory ? "out of memory" : code == 719 ? "unspecified launch failure" : "some error";
}

int cudaGetLastError() {
  const std::lock_guard held(fake.lock);
  return std::exchange(fake.last_error, 0);
}

int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call("cudaMemGetInfo",
              [&] { return *free = fake.memory_bytes - used[current], *total = fake.memory_bytes, 0; });
}

int cudaMalloc(void** memory, std::size_t size) {
  return call("cudaMalloc", [&] {
    if (will_fail("cudaMalloc")) return 0;
    if (size > fake.memory_bytes - used[current]) return kNoMemory;
    auto* bytes = new std::byte[size];
    allocated[bytes] = size, owner[bytes] = current, used[current] += size, ++fake.allocations;
    *memory = bytes;
    return 0;
  });
}

int cudaFree(void* memory) {
  return call("cudaFree", [&] {
    auto* bytes = static_cast<std::byte*>(memory);
    const auto found = allocated.find(bytes);
    if (found == allocated.end()) return kInvalidValue;
    if (is_copied(bytes, found->second)) fake.troubles.push_back("memory was freed under a copy");
    for (Stream* stream : streams) stream->run_to(fake.copies);
    used[owner[bytes]] -= found->second, --fake.allocations;
    allocated.erase(found);
    delete[] bytes;
    return 0;
  });
}

int cudaHostRegister(void* memory, std::size_t size, unsigned) {
  return call("cudaHostRegister", [&] {
    if (will_fail("cudaHostRegister")) return 0;
    registered[static_cast<std::byte*>(memory)] = size, ++fake.registrations;
    fake.calls.push_back("register");
    return 0;
  });
}

int cudaHostUnregister(void* memory) {
  return call("cudaHostUnregister", [&] {
    const auto found = registered.find(static_cast<std::byte*>(memory));
    if (found == registered.end()) return kInvalidValue;
    if (is_copied(found->first, found->second)) fake.troubles.push_back("memory was unpinned under a copy");
    registered.erase(found), --fake.registrations;
    return 0;
  });
}

int cudaStreamCreateWithFlags(void** stream, unsigned) {
  return call("cudaStreamCreateWithFlags", [&] {
    if (will_fail("cudaStreamCreateWithFlags")) return 0;
    ++fake.streams;
    *stream = *streams.insert(new Stream).first;
    return 0;
  });
}

int cudaStreamDestroy(void* stream) {
  return call("cudaStreamDestroy", [&] {
    --fake.streams;
    streams.erase(static_cast<Stream*>(stream));
    delete static_cast<Stream*>(stream);
    return 0;
  });
}

int cudaMemcpyAsync(void* to, const void* from, std::size_t size, int kind, void* stream) {
  return call("cudaMemcpyAsync", [&] {
    if (will_fail("cudaMemcpyAsync")) return 0;
    const bool in = kind == 1;
    if (!within(allocated, in ? to : from, size)) return kInvalidValue;
    if (!within(registered, in ? from : to, size))
      fake.troubles.push_back("a copy of memory that is not pinned waits for the device");
    static_cast<Stream*>(stream)->waiting.push_back(
        {static_cast<std::byte*>(to), static_cast<const std::byte*>(from), size, ++fake.copies});
    fake.calls.push_back((in ? "in " : "out ") + std::to_string(fake.copies));
    return 0;
  });
}

int cudaEventCreateWithFlags(void** event, unsigned) {
  return call("cudaEventCreateWithFlags", [&] {
    if (will_fail("cudaEventCreateWithFlags")) return 0;
    ++fake.events;
    *event = new Event;
    return 0;
  });
}

int cudaEventRecord(void* event, void* stream) {
  return call("cudaEventRecord",
              [&] { return *static_cast<Event*>(event) = {static_cast<Stream*>(stream), fake.copies}, 0; });
}

int cudaEventSynchronize(void* event) {
  return call("cudaEventSynchronize", [&] {
    const auto* recorded = static_cast<Event*>(event);
    fake.calls.push_back("wait " + std::to_string(recorded->number));
    if (!will_fail("cudaEventSynchronize")) recorded->stream->run_to(recorded->number);
    return 0;
  });
}

int cudaEventQuery(void* event) {
  return call("cudaEventQuery", [&] {
    auto* recorded = static_cast<Event*>(event);
    if (!std::exchange(recorded->asked, true)) return kNotReady;
    recorded->stream->run_to(recorded->number);
    return 0;
  });
}

int cudaEventDestroy(void* event) {
  return call("cudaEventDestroy", [&] { return --fake.events, delete static_cast<Event*>(event), 0; });
}

}  // extern "C"
