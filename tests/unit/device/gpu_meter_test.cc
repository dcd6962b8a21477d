// What a lease's GPUs did, of a library that stands in for the driver's; a GPU that has failed holds nobody up.
#include "device/gpu_meter.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace pounce::device {
namespace {

using namespace std::chrono_literals;

// By which the library hears what happens.
class FakeFolder {
 public:
  FakeFolder() { ::setenv("FAKE_NVML", path_.c_str(), 1); }
  ~FakeFolder() {
    ::unsetenv("FAKE_NVML");
    std::filesystem::remove_all(path_);
  }
  FakeFolder(const FakeFolder&) = delete;
  FakeFolder& operator=(const FakeFolder&) = delete;

  void tell(const std::string& what, const std::string& words = "") const {
    std::ofstream(path_ + "/new") << words;
    std::filesystem::rename(path_ + "/new", path_ + "/" + what);
  }
  bool has(const std::string& what) const { return std::filesystem::exists(path_ + "/" + what); }

 private:
  std::string path_ = [] {
    char name[] = "/tmp/fake-nvml-XXXXXX";
    return std::string(::mkdtemp(name));
  }();
};

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
  EXPECT_GE(meter.now().percent, 0) << "what it does at the moment is known with a task and without one";
  EXPECT_EQ(meter.now().memory_mib, 3u * 1024);
}

TEST(GpuMeterTest, OfASliceOfAGpuTellsTheMemoryOnly) {
  GpuMeter meter("MIG-slice", POUNCE_FAKE_NVML, 1ms);
  meter.set_busy(true);

  const GpuUse use = once(meter, [](const GpuUse& now) { return now.memory_mib > 0; });

  EXPECT_EQ(use.percent, -1);
  EXPECT_EQ(use.memory_mib, 5u * 1024);
}

TEST(GpuMeterTest, KnowsNothingWithoutADriverAGpuOrOneThatTheDriverKnows) {
  const GpuMeter no_driver("0", "libnot-there.so.1", 1ms), no_gpu("", POUNCE_FAKE_NVML, 1ms),
      unknown("7,GPU-unknown", POUNCE_FAKE_NVML, 1ms);

  for (const GpuMeter* meter : {&no_driver, &no_gpu, &unknown}) {
    EXPECT_EQ(meter->used().percent, -1);
    EXPECT_EQ(meter->used().memory_total_mib, 0u);
  }
}

// The first thing that it tells, once it has.
template <class Look>
auto heard(const GpuMeter& meter, Look look) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!look() && std::chrono::steady_clock::now() < deadline) {
    pollfd news{meter.event_fd(), POLLIN, 0};
    ::poll(&news, 1, 1000);
  }
  return look();
}

TEST(GpuMeterTest, TellsTheFactsAsNews) {
  GpuMeter meter("0,1", POUNCE_FAKE_NVML, 1ms);

  const auto facts = heard(meter, [&] { return meter.facts(); });

  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->at(1).uuid, "GPU-second");
  meter.hear();
  pollfd news{meter.event_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&news, 1, 0), 0);
}

TEST(GpuMeterTest, TellsOnceOfAGpuThatHasFallenOff) {
  const FakeFolder folder;
  GpuMeter meter("0,1", POUNCE_FAKE_NVML, 1ms);
  heard(meter, [&] { return meter.facts(); });
  folder.tell("lost-1");

  heard(meter, [&] { return meter.failures().size() > 0; });
  folder.tell("xid-0", "31");  // so that it looks once more
  once(meter, [&](const GpuUse&) { return !folder.has("xid-0"); });

  ASSERT_EQ(meter.failures().size(), 1u);
  EXPECT_EQ(meter.failures().front().uuid, "GPU-second");
  EXPECT_EQ(meter.failures().front().error.code, ErrorCode::kDeviceFailed);
}

TEST(GpuMeterTest, TellsOfAGpuThatWasGoneBeforeItCame) {
  const FakeFolder folder;
  folder.tell("lost-1");
  const GpuMeter meter("1", POUNCE_FAKE_NVML, 1ms);

  heard(meter, [&] { return meter.failures().size() > 0; });

  ASSERT_EQ(meter.failures().size(), 1u);
  EXPECT_EQ(meter.failures().front().error.text, "the GPU 1 failed: its driver does not reach it any more");
}

TEST(GpuMeterTest, OfWhatAProgramDidWrongSaysNothing) {
  const FakeFolder folder;
  GpuMeter meter("0,1", POUNCE_FAKE_NVML, 1ms);
  folder.tell("xid-0", "31");
  once(meter, [&](const GpuUse&) { return !folder.has("xid-0"); });
  folder.tell("xid-1", "79");

  heard(meter, [&] { return meter.failures().size() > 0; });

  ASSERT_EQ(meter.failures().size(), 1u);
  EXPECT_EQ(meter.failures().front().error.context.at("xid"), "79");
}

TEST(GpuMeterTest, TellsWhichGpusAnotherListNames) {
  GpuMeter meter("0", POUNCE_FAKE_NVML, 1ms);

  meter.ask_uuids("1,0");
  const auto two = heard(meter, [&] { return meter.uuids(); });
  meter.ask_uuids(std::nullopt);
  const auto all = heard(meter, [&] { return meter.uuids(); });

  EXPECT_EQ(two.value().value().own, std::vector<std::string>{"GPU-first"});
  EXPECT_EQ(two.value().value().queried, (std::vector<std::string>{"GPU-second", "GPU-first"}));
  EXPECT_EQ(all.value().value().queried, (std::vector<std::string>{"GPU-first", "GPU-second"}));
}

TEST(GpuMeterTest, WithoutADriverAnswersThatNothingIsKnown) {
  GpuMeter meter("0", "libnot-there.so.1", 1ms);

  meter.ask_uuids("1");
  const auto answer = heard(meter, [&] { return meter.uuids(); });

  ASSERT_TRUE(answer);
  EXPECT_FALSE(*answer);
  EXPECT_FALSE(meter.facts());
}

// Returns when it has looked: a look ends before the next report is fetched.
void let_it_look(const GpuMeter& meter, const FakeFolder& folder) {
  for (int report = 0; report < 2; ++report) {
    folder.tell("xid-0", "31");
    once(meter, [&](const GpuUse&) { return !folder.has("xid-0"); });
  }
}

TEST(GpuMeterTest, KeepsWhatEachTaskDid) {
  const FakeFolder folder;
  GpuMeter meter("0", POUNCE_FAKE_NVML, 1ms);

  for (const char* task : {"a", "b", ""}) {
    meter.set_task(task);
    let_it_look(meter, folder);
  }

  ASSERT_EQ(meter.tasks().size(), 2u);
  EXPECT_EQ(meter.tasks().front().task, "a");
  EXPECT_EQ(meter.tasks().back().task, "b");
  EXPECT_EQ(meter.tasks().back().use.percent, 90);
  EXPECT_EQ(meter.tasks().back().use.memory_mib, 3u * 1024);
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
