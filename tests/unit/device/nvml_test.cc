// What the driver tells of its GPUs and of their health, by a library that stands in for it.
#include "device/nvml.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include "support/fake_nvml.h"

namespace pounce::device {
namespace {

using testing::ElementsAre;

constexpr unsigned long long kXid = 8, kMemoryError = 2;

class NvmlTest : public testing::Test {
 protected:
  void TearDown() override {
    nvml_.reset();
    EXPECT_EQ(fake().sets, 0u);
  }

  static FakeNvml& fake() {
    static FakeNvml& one =
        *reinterpret_cast<FakeNvmlFunction>(::dlsym(::dlopen(POUNCE_FAKE_NVML, RTLD_NOW), "fake_nvml"))();
    return one;
  }
  std::vector<GpuHealth> health(const std::string& visible) { return nvml_->health(nvml_->devices(visible)); }

  std::optional<Nvml> nvml_ = Nvml::open(POUNCE_FAKE_NVML);
};

TEST_F(NvmlTest, TellsTheFactsOfAGpu) {
  const DeviceFacts facts = nvml_->facts(nvml_->devices("0")).at(0);

  EXPECT_EQ(facts.uuid, "GPU-first");
  EXPECT_EQ(facts.model, "Fake GPU");
  EXPECT_EQ(facts.driver, "580.65.06");
  EXPECT_EQ(facts.memory.total_bytes, 80ull << 30);
  EXPECT_EQ(facts.memory.free_bytes, 76ull << 30);
  EXPECT_EQ(facts.sliced, false);
  EXPECT_EQ(facts.numa_node, 1u);
  EXPECT_EQ(facts.uncorrected_errors, 0u);
}

TEST_F(NvmlTest, OfASliceTellsWhatTheDriverDoes) {
  const DeviceFacts facts = nvml_->facts(nvml_->devices("MIG-slice")).at(0);

  EXPECT_EQ(facts.uuid, "MIG-slice");
  EXPECT_EQ(facts.model, "Fake GPU MIG 3g.40gb");
  EXPECT_EQ(facts.sliced, std::nullopt);
  EXPECT_EQ(facts.numa_node, std::nullopt);
  EXPECT_EQ(facts.uncorrected_errors, std::nullopt);
}

TEST_F(NvmlTest, TellsWhomNvlinkJoins) {
  const auto facts = nvml_->facts(nvml_->devices("0,1,MIG-slice"));

  EXPECT_THAT(facts.at(0).nvlink_peers, ElementsAre("GPU-second"));
  EXPECT_THAT(facts.at(1).nvlink_peers, ElementsAre("GPU-first"));
  EXPECT_THAT(facts.at(2).nvlink_peers, ElementsAre());
  EXPECT_EQ(facts.at(1).uncorrected_errors, 2u);
}

TEST_F(NvmlTest, TellsEachReportOnceAndOfWhichGpu) {
  (void)health("0,1");  // from here on the driver keeps them
  fake().report(1, kXid, 79);
  fake().report(0, kMemoryError, 0);

  const auto first = health("0,1"), second = health("0,1");

  EXPECT_THAT(first.at(0).xids, ElementsAre());
  EXPECT_TRUE(first.at(0).memory_failed);
  EXPECT_THAT(first.at(1).xids, ElementsAre(79));
  EXPECT_FALSE(first.at(1).memory_failed);
  EXPECT_FALSE(failure_of("GPU-first", second.at(0)));
  EXPECT_FALSE(failure_of("GPU-second", second.at(1)));
}

TEST_F(NvmlTest, TellsThatAGpuHasFallenOff) {
  fake().second_is_lost = true;

  const auto health_of_both = health("0,1");

  fake().second_is_lost = false;
  EXPECT_FALSE(health_of_both.at(0).gone);
  EXPECT_TRUE(health_of_both.at(1).gone);
}

TEST_F(NvmlTest, OfASliceHasNothingToReport) { EXPECT_FALSE(failure_of("MIG-slice", health("MIG-slice").at(0))); }

TEST_F(NvmlTest, IsNotThereWithoutADriver) { EXPECT_FALSE(Nvml::open("libnot-there.so.1")); }

}  // namespace
}  // namespace pounce::device
