#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "worker/supervisor/worker_group.h"

namespace pounce::worker {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;

TEST(NodeStepTest, IsThisProgramAgainWithItsNodeAndLaterEpochs) {
  const Program step = node_step({"/opt/pounce-worker", "serve", "--lease", "17", "--", "/usr/bin/python3"}, {"7", {}},
                                 2, Epoch{64'000'000}, {});

  EXPECT_EQ(step.command.front(), "srun");
  const auto program = std::ranges::find(step.command, "/opt/pounce-worker");
  EXPECT_THAT(std::vector(program, step.command.end()),
              ElementsAre("/opt/pounce-worker", "serve", "--node", "2", "--first-epoch", "64000000", "--lease", "17",
                          "--", "/usr/bin/python3"));
}

TEST(NodeStepTest, IsOneProcessOnThatNodeThatSharesTheJobsDevicesAndEndsWithUs) {
  const Program step = node_step({"w", "serve"}, {"7", {}}, 1, {}, {{"SLURM_JOB_NAME", "train"}});

  for (const char* option : {"--jobid=7", "--relative=1", "--nodes=1", "--ntasks=1", "--overlap"})
    EXPECT_THAT(step.command, Contains(option));
  EXPECT_EQ(step.death_signal, SIGTERM);
  EXPECT_EQ(step.environment->at("POUNCE_PASSED_SLURM_JOB_NAME"), "train");  // srun changes the other
}

TEST(NodeStepTest, OfPartsOfAJobIsWhereItsPlaceLiesAndHasItsDevicesAlone) {
  const Program step = node_step({"w", "serve"}, {"7", {{0, "0"}, {3, "2,5"}}}, 1, {}, {});

  EXPECT_THAT(step.command, Contains("--relative=3"));
  const auto environment = std::ranges::find(step.command, "env"), program = std::ranges::find(step.command, "w");
  EXPECT_THAT(std::vector(environment, program),
              AllOf(Contains("CUDA_VISIBLE_DEVICES=2,5"), Contains("SLURM_JOB_ID"), Contains("SLURM_STEP_GPUS")));
}

}  // namespace
}  // namespace pounce::worker
