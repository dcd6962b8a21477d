// What a lease's GPUs did, of a library that stands in for the driver's; a GPU that has failed holds nobody up.
#include "device/gpu_meter.h"

#include <gtest/gtest.h>

#include <thread>

namespace pounce::device {
namespace {

using namespace std::chrono_literals;

// The meter's, once it is as it should be: the thread looks when it looks.
template <class Condition>
GpuUse once(const GpuMeter& meter, Condition is) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!is(meter.used()) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return meter.used();
}

TEST(GpuMeterTest, TellsTheMeanUseOfAllAndTheMostMemoryOfOne) {
  GpuMeter meter("0,1", POUNCE_FAKE_NVML, 1ms);
  meter.set_busy(true);

  const GpuUse use = once(meter, [](const GpuUse& now) { return now.percent >= 59 && now.percent <= 61; });

  EXPECT_NEAR(use.percent, 60, 1);
  EXPECT_EQ(use.memory_mib, 5u * 1024);
  EXPECT_EQ(use.memory_total_mib, 80u * 1024);
}

TEST(GpuMeterTest, CountsNoUseWithoutATask) {
  const GpuMeter meter("0", POUNCE_FAKE_NVML, 1ms);

  const GpuUse use = once(meter, [](const GpuUse& now) { return now.memory_mib > 0; });

  EXPECT_EQ(use.memory_mib, 3u * 1024);
  EXPECT_EQ(use.percent, -1);
}

TEST(GpuMeterTest, OfASliceOfAGpuTellsTheMemoryOnly) {
  GpuMeter meter("MIG-slice", POUNCE_FAKE_NVML, 1ms);
  meter.set_busy(true);

  const GpuUse use = once(meter, [](const GpuUse& now) { return now.memory_mib > 0; });

  EXPECT_EQ(use.percent, -1);
  EXPECT_EQ(use.memory_mib, 5u * 1024);
}

TEST(GpuMeterTest, KnowsNothingWithoutADriverAGpuOrOneThatTheDriverKnows) {
  const GpuMeter no_driver("0", "libnot-there.so.1", 1ms), no_gpu("", POUNCE_FAKE_NVML, 1ms), unknown("7,GPU-unknown", POUNCE_FAKE_NVML, 1ms);

  for (const GpuMeter* meter : {&no_driver, &no_gpu, &unknown}) {
    EXPECT_EQ(meter->used().percent, -1);
    EXPECT_EQ(meter->used().memory_total_mib, 0u);
  }
}

TEST(GpuMeterTest, EndsAlthoughTheDriverNeverAnswers) {
  const auto start = std::chrono::steady_clock::now();
  {
    GpuMeter meter("GPU-failed", POUNCE_FAKE_NVML, 1ms);
    meter.set_busy(true);
    EXPECT_EQ(meter.used().percent, -1);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

}  // namespace
}  // namespace pounce::device
