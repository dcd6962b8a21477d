// What a test tells the driver's library that stands in for NVIDIA's (fake_nvml.cc).
#pragma once

namespace pounce::device {

struct FakeNvml {
  bool second_is_lost = false;
  unsigned sets = 0;                      // of events, alive
  unsigned long long reports[8][3] = {};  // GPU, type, what: not fetched yet
  unsigned reported = 0;

  void report(unsigned long long gpu, unsigned long long type, unsigned long long what) {
    reports[reported][0] = gpu, reports[reported][1] = type, reports[reported][2] = what;
    ++reported;
  }
};

using FakeNvmlFunction = FakeNvml* (*)();  // the library's fake_nvml()

}  // namespace pounce::device
