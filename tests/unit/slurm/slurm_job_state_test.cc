// Every number is some state, an unknown one is never an end; the numbers are those of the installed slurm.h.
#include <gtest/gtest.h>

#include <random>

#include "slurm/slurm_values.h"

#if __has_include(<slurm/slurm.h>)
#include <slurm/slurm.h>
#define POUNCE_HAS_SLURM_H
#endif

namespace pounce::slurm {
namespace {

bool is(std::uint32_t raw, JobState state, JobEnd end) {
  const MappedState mapped = map_job_state(raw);
  return mapped.state == state && mapped.end == end;
}

TEST(SlurmJobStateTest, AStateBeyondTheKnownOnesIsUnknownAndNoEnd) {
  for (const std::uint32_t base : {12u, 13u, 42u, 255u})
    for (const std::uint32_t flags : {0u, 1u << 15, 0xffffff00u})
      EXPECT_TRUE(is(base | flags, JobState::kUnknown, JobEnd::kNone));
}

TEST(SlurmJobStateTest, EveryNumberIsMappedAndOnlyWhatEndsHasAnEnd) {
  std::mt19937 random(20221105);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint32_t raw = (random() & ~0xffu) | random() % 16;  // mostly known states with any flags
    const MappedState mapped = map_job_state(raw);
    ASSERT_LE(mapped.state, JobState::kEnded) << raw;
    ASSERT_LT(mapped.end, JobEnd::kGone) << raw;
    ASSERT_TRUE(mapped.end == JobEnd::kNone || mapped.state >= JobState::kEnding) << raw;
    ASSERT_TRUE(mapped.state != JobState::kEnded || mapped.end != JobEnd::kNone) << raw;
  }
}

TEST(SlurmJobStateTest, AJobIsBeingPreparedWhileItsNodesAreSwitchedOnOrRunTheirProlog) {
  constexpr std::uint32_t kRunning = 1, kConfiguring = 1u << 14, kPowerUp = 1u << 18;

  EXPECT_TRUE(is_being_prepared(kRunning | kConfiguring));
  EXPECT_TRUE(is_being_prepared(kRunning | kPowerUp | kConfiguring));
  EXPECT_FALSE(is_being_prepared(kRunning));
  EXPECT_FALSE(is_being_prepared(0));
}

#ifdef POUNCE_HAS_SLURM_H
TEST(SlurmJobStateTest, EachBaseStateOfTheInstalledHeaderMeansWhatItsNameSays) {
  EXPECT_TRUE(is(JOB_PENDING, JobState::kQueued, JobEnd::kNone));
  EXPECT_TRUE(is(JOB_RUNNING, JobState::kRunning, JobEnd::kNone));
  EXPECT_TRUE(is(JOB_SUSPENDED, JobState::kRunning, JobEnd::kNone));
  EXPECT_TRUE(is(JOB_COMPLETE, JobState::kEnded, JobEnd::kCompleted));
  EXPECT_TRUE(is(JOB_CANCELLED, JobState::kEnded, JobEnd::kCancelled));
  EXPECT_TRUE(is(JOB_FAILED, JobState::kEnded, JobEnd::kFailed));
  EXPECT_TRUE(is(JOB_TIMEOUT, JobState::kEnded, JobEnd::kTimeout));
  EXPECT_TRUE(is(JOB_NODE_FAIL, JobState::kEnded, JobEnd::kNodeFail));
  EXPECT_TRUE(is(JOB_PREEMPTED, JobState::kEnded, JobEnd::kPreempted));
  EXPECT_TRUE(is(JOB_BOOT_FAIL, JobState::kEnded, JobEnd::kBootFail));
  EXPECT_TRUE(is(JOB_DEADLINE, JobState::kEnded, JobEnd::kDeadline));
  EXPECT_TRUE(is(JOB_OOM, JobState::kEnded, JobEnd::kOutOfMemory));
}

TEST(SlurmJobStateTest, NoStateOfTheInstalledHeaderIsUnknownAndTheOneBeyondItIs) {
  for (std::uint32_t base = 0; base < JOB_END; ++base) EXPECT_NE(map_job_state(base).state, JobState::kUnknown) << base;
  EXPECT_TRUE(is(JOB_END, JobState::kUnknown, JobEnd::kNone));
}

TEST(SlurmJobStateTest, AJobWhoseNodesStillBootDoesNotRunYet) {
  EXPECT_TRUE(is(JOB_RUNNING | JOB_CONFIGURING, JobState::kQueued, JobEnd::kNone));
  EXPECT_TRUE(is(JOB_RUNNING | JOB_POWER_UP_NODE, JobState::kQueued, JobEnd::kNone));
}

TEST(SlurmJobStateTest, ACompletingJobIsEndingAndItsEndIsKnown) {
  EXPECT_TRUE(is(JOB_TIMEOUT | JOB_COMPLETING, JobState::kEnding, JobEnd::kTimeout));
  EXPECT_TRUE(is(JOB_COMPLETE | JOB_STAGE_OUT, JobState::kEnding, JobEnd::kCompleted));
}

TEST(SlurmJobStateTest, ARequeuedJobIsNotOver) {
  for (const std::uint32_t flag : {JOB_REQUEUE, JOB_REQUEUE_HOLD, JOB_SPECIAL_EXIT, JOB_REQUEUE_FED})
    EXPECT_TRUE(is(JOB_PREEMPTED | JOB_COMPLETING | flag, JobState::kEnding, JobEnd::kNone)) << flag;
  EXPECT_TRUE(is(JOB_PENDING | JOB_COMPLETING, JobState::kQueued, JobEnd::kNone));
}

TEST(SlurmJobStateTest, FlagsThatSayNothingOfLifeAndDeathChangeNothing) {
  for (const std::uint32_t flag : {JOB_LAUNCH_FAILED, JOB_UPDATE_DB, JOB_RESIZING, JOB_STOPPED, JOB_SIGNALING}) {
    EXPECT_TRUE(is(JOB_RUNNING | flag, JobState::kRunning, JobEnd::kNone)) << flag;
    EXPECT_TRUE(is(JOB_FAILED | flag, JobState::kEnded, JobEnd::kFailed)) << flag;
  }
}
#endif

}  // namespace
}  // namespace pounce::slurm
