// What to ask for next time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/sentence.h"

namespace pounce::messages {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr char kFits[] = "what was asked for fits what was used";

Resources asked(std::uint64_t memory_mib, std::uint32_t cpus, std::chrono::minutes time) {
  Resources resources;
  resources.memory_mib = memory_mib, resources.cpus = cpus, resources.time = time;
  return resources;
}

using Time = std::chrono::milliseconds;

model::JobFigures used(Time busy, Time idle, Time cpu, std::uint64_t memory_mib, std::int32_t gpu_percent = -1,
                       std::uint64_t gpu_memory_mib = 0, std::uint64_t gpu_memory_total_mib = 0) {
  return {busy.count(), idle.count(), cpu.count(), memory_mib, gpu_percent, gpu_memory_mib, gpu_memory_total_mib};
}

TEST(SuggestionTest, TellsMuchUnusedMemoryAndWhatIsEnough) {
  EXPECT_EQ(suggestion(asked(32 * 1024, 0, 0min), used(60s, 0s, 0s, 1200), true),
            "asked 32 GiB of memory, used 1.2 GiB at most: ask for 2 GiB");
}

TEST(SuggestionTest, WarnsOfMemoryThatIsAlmostUsedUp) {
  EXPECT_THAT(suggestion(asked(4096, 0, 0min), used(60s, 0s, 0s, 4000), true),
              HasSubstr("ask for 6 GiB, or Slurm may end it"));
}

TEST(SuggestionTest, SaysNothingOfMemoryThatNobodyAskedForOrThatFits) {
  EXPECT_EQ(suggestion(asked(0, 0, 0min), used(60s, 0s, 0s, 300), true), kFits);
  EXPECT_EQ(suggestion(asked(2048, 0, 0min), used(60s, 0s, 0s, 1100), true), kFits);
}

TEST(SuggestionTest, CountsTheCpusThatWereKeptBusyWhileThereWasWork) {
  EXPECT_EQ(suggestion(asked(0, 8, 0min), used(100s, 900s, 110s, 0), true),
            "asked 8 CPUs, kept 1.1 busy on average: ask for 2");
  EXPECT_EQ(suggestion(asked(0, 8, 0min), used(100s, 0s, 700s, 0), true), kFits);
  EXPECT_EQ(suggestion(asked(0, 8, 0min), used(10s, 0s, 1s, 0), true), kFits);  // too little work to tell
}

TEST(SuggestionTest, SharesTheCpuTimeOutToTheWorkers) {
  Resources gang = asked(0, 4, 0min);
  gang.workers = 4;
  EXPECT_EQ(suggestion(gang, used(100s, 0s, 1600s, 0), true), kFits);
  EXPECT_THAT(suggestion(gang, used(100s, 0s, 400s, 0), true), HasSubstr("kept 1.0 busy"));
}

TEST(SuggestionTest, TellsOfGpusThatHardlyComputedAndOfTheirMemoryThatLayIdle) {
  Resources one_gpu = asked(0, 0, 0min);
  one_gpu.gpus = 1;
  EXPECT_EQ(suggestion(one_gpu, used(100s, 0s, 0s, 0, 7, 3000, 81920), true),
            "its GPUs computed 7 % of the time: fewer, a slice or none may do; "
            "used 2.9 GiB of 80 GiB of GPU memory: one with 5 GiB would do");
  EXPECT_EQ(suggestion(one_gpu, used(100s, 0s, 0s, 0, 80, 70'000, 81920), true), kFits);
  EXPECT_EQ(suggestion(one_gpu, used(100s, 0s, 0s, 0), true), kFits);                 // no driver tells
  EXPECT_EQ(suggestion(one_gpu, used(10s, 0s, 0s, 0, 7, 3000, 81920), true), kFits);  // too little work to tell
  EXPECT_EQ(suggestion(asked(0, 0, 0min), used(100s, 0s, 0s, 0, 7, 3000, 81920), true), kFits);  // none were asked for
}

TEST(SuggestionTest, JudgesTheTimeOnceItIsOver) {
  EXPECT_EQ(suggestion(asked(0, 0, 24h), used(30min, 10min, 0s, 0), true),
            "asked 24 h, held it for 40 min: a shorter time can start sooner");
  EXPECT_EQ(suggestion(asked(0, 0, 24h), used(30min, 10min, 0s, 0), false), kFits);
}

}  // namespace
}  // namespace pounce::messages
