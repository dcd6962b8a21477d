// What the first process of a lease is told of the nodes that the lease has.
#include "job/slurm_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pounce::job {
namespace {

TEST(JobNodesTest, ComeBackFromTheEnvironmentAsTheyWereTold) {
  const JobNodes told{"17", {{0, "0,MIG-7"}, {3, ""}, {4, std::nullopt}}};
  Environment environment{{"SLURM_JOB_ID", "18"}};

  tell(told, environment);

  const JobNodes heard = job_nodes(environment);
  EXPECT_EQ(heard.job, "17");
  EXPECT_EQ(heard.places, told.places);
}

TEST(JobNodesTest, OfABatchJobAreItsOwnInTheirOrder) {
  const JobNodes nodes = job_nodes({{"SLURM_JOB_ID", "18"}});
  EXPECT_EQ(nodes.job, "18");
  EXPECT_EQ(nodes.at(2), (StepPlace{2, std::nullopt}));
}

TEST(StepCommandTest, OfAWholeNodeLeavesWhatSlurmTellsTheProgram) {
  EXPECT_THAT(step_command("17", {1}), testing::Not(testing::Contains("env")));
}

}  // namespace
}  // namespace pounce::job
