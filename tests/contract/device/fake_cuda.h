// What a test sets and reads of the CUDA runtime that stands in for NVIDIA's (fake_cuda.cc).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace pounce::device {

struct FakeCuda {
  std::mutex lock;  // guards all below
  int devices = 4, driver_version = 13000, runtime_version = 13000;
  std::size_t memory_bytes = 64 << 20;  // of each device
  std::string fails;                    // the next call of this name,
  int fails_with = 0;                   // with this
  std::atomic<int> lost = 0;            // what every call answers from now on; 0: it works

  std::vector<int> used_devices;   // in the order in which threads took to them
  std::vector<std::string> calls;  // what was asked for, in order: "in 1" begins the first copy, "wait 1" waits for it
  std::vector<std::string> troubles;                                        // what a real one would punish, or not tell
  std::size_t allocations = 0, registrations = 0, streams = 0, events = 0;  // alive
  int last_error = 0;                                                       // what somebody left behind
  std::size_t copies = 0;
};

using FakeCudaFunction = FakeCuda* (*)();  // the library's fake_cuda()

}  // namespace pounce::device
