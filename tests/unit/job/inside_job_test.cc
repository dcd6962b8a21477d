// Which of Slurm's variables a program on a worker sees, which job a client in it belongs to, and what the first
// process of a lease is told of the nodes that the lease has.
#include "job/inside_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pounce::job {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(JobIdentityTest, IsTheJobAndNotTheLaunch) {
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_PARTITION", "SLURM_JOB_QOS",
                           "SLURM_JOB_ACCOUNT", "SLURM_JOB_NODELIST", "SLURM_CLUSTER_NAME", "SLURMD_NODENAME",
                           "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_JOB_ID", "SLURM_TMPDIR", "SLURM_CONF"})
    EXPECT_TRUE(is_job_identity(name)) << name;
  for (const char* name : {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_NPROCS",
                           "SLURM_STEP_ID", "SLURM_STEP_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_NODEID",
                           "SLURM_JOBID", "SLURM_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_CPU_BIND", "PMI_RANK"})
    EXPECT_FALSE(is_job_identity(name)) << name;
}

TEST(JobIdentityTest, OfAnOuterJobReachesALocalWorkerUnderNamesThatItDoesNotTakeForALeases) {
  Environment worker;
  pass_on_identity({{"SLURM_JOB_ID", "7"}, {"SLURM_ARRAY_TASK_ID", "3"}, {"SLURM_NTASKS", "2"}}, worker);
  EXPECT_EQ(worker.count("SLURM_JOB_ID"), 0u);
  EXPECT_THAT(visible_identity(worker),
              ElementsAre(Pair("POUNCE_WORKER_JOB", "7"), Pair("SLURM_ARRAY_TASK_ID", "3"), Pair("SLURM_JOB_ID", "7")));
}

TEST(JobIdentityTest, AStepHasItsOwnNodeAndTheNameAndNodesOfItsJob) {
  Environment worker{{"SLURMD_NODENAME", "g2"}, {"SLURM_JOB_NAME", "pounce-worker"}, {"SLURM_JOB_NODELIST", "g2"}};
  pass_on_identity({{"SLURMD_NODENAME", "g1"}, {"SLURM_JOB_NAME", "train"}, {"SLURM_JOB_NODELIST", "g[1-2]"}}, worker);
  EXPECT_THAT(visible_identity(worker), ElementsAre(Pair("SLURMD_NODENAME", "g2"), Pair("SLURM_JOB_NAME", "train"),
                                                    Pair("SLURM_JOB_NODELIST", "g[1-2]")));
}

TEST(JobIdentityTest, OutsideSlurmNothingIsAdded) {
  EXPECT_THAT(visible_identity({{"PATH", "/bin"}, {"POUNCE_PASSED_PATH", "/x"}}), IsEmpty());
}

TEST(JobIdentityTest, AWorkersJobIsNotAnOuterJobAndAnotherJobThatATaskSubmittedIs) {
  EXPECT_EQ(outer_job({}), 0u);
  EXPECT_EQ(outer_job({{"SLURM_JOB_ID", "7"}}), 7u);
  EXPECT_EQ(outer_job({{"SLURM_JOB_ID", "7"}, {"POUNCE_WORKER_JOB", "7"}}), 0u);
  EXPECT_EQ(outer_job({{"SLURM_JOB_ID", "8"}, {"POUNCE_WORKER_JOB", "7"}}), 8u);
}

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
