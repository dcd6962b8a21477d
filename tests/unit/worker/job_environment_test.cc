#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/supervisor/supervisor_options.h"

namespace pounce::worker {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(JobEnvironmentTest, HidesTheLaunchAndUsFromUserCodeAndKeepsTheDevices) {
  const Environment shown = for_user_code({{"SLURM_JOBID", "7"},
                                           {"SLURM_NTASKS", "2"},
                                           {"SLURM_STEP_ID", "0"},
                                           {"SBATCH_PARTITION", "p"},
                                           {"PMIX_RANK", "0"},
                                           {"OMPI_COMM_WORLD_SIZE", "2"},
                                           {"POUNCE_LOG", "debug"},
                                           {"CUDA_VISIBLE_DEVICES", "0"},
                                           {"PATH", "/bin"},
                                           {"MY_SLURM_NOTE", "kept"}});
  EXPECT_THAT(shown,
              ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "0"), Pair("MY_SLURM_NOTE", "kept"), Pair("PATH", "/bin")));
}

TEST(JobEnvironmentTest, ShowsUserCodeItsJobAndSaysThatItIsTheWorkers) {
  EXPECT_THAT(for_user_code({{"SLURM_JOB_ID", "7"}, {"SLURMD_NODENAME", "g1"}, {"SLURM_CONF", "/c"}}),
              ElementsAre(Pair("POUNCE_WORKER_JOB", "7"), Pair("SLURMD_NODENAME", "g1"), Pair("SLURM_CONF", "/c"),
                          Pair("SLURM_JOB_ID", "7")));
}

TEST(JobEnvironmentTest, ReadsTheJobFromSlurmsVariables) {
  const JobFacts facts = job_facts({{"SLURM_JOB_ID", "4711"},
                                    {"SLURM_RESTART_COUNT", "2"},
                                    {"SLURMD_NODENAME", "g1"},
                                    {"SLURM_JOB_END_TIME", "1700001200"},
                                    {"SLURM_JOB_GPUS", "0,3"},
                                    {"CUDA_VISIBLE_DEVICES", "0,1"}},
                                   "", "login");
  EXPECT_EQ(facts.job, 4711u);
  EXPECT_EQ(facts.restart, 2u);
  EXPECT_EQ(facts.node, "g1");
  EXPECT_EQ(facts.end_time_s, 1'700'001'200);
  EXPECT_EQ(facts.devices, "GPU 0,3");
}

// The step's environment has the first node's too.
TEST(JobEnvironmentTest, OnAFurtherNodeTheDevicesAreThoseOfTheStep) {
  EXPECT_EQ(job_facts({{"SLURM_JOB_GPUS", "0"}, {"SLURM_STEP_GPUS", "2"}}, "", "login").devices, "GPU 2");
}

TEST(JobEnvironmentTest, DescribesAProcessOutsideAnyJob) {
  const JobFacts facts = job_facts({}, "", "laptop");
  EXPECT_EQ(facts.job, 0u);
  EXPECT_EQ(facts.node, "laptop");
  EXPECT_EQ(facts.devices, "");
}

TEST(JobEnvironmentTest, NamesAStandInForWhatItIs) {
  EXPECT_EQ(job_facts({{"CUDA_VISIBLE_DEVICES", "0"}}, "CPU standing in", "x").devices, "CPU standing in");
}

TEST(JobEnvironmentTest, TakesSlurmsNoDevFilesForNoDevices) {
  EXPECT_EQ(job_facts({{"CUDA_VISIBLE_DEVICES", "NoDevFiles"}}, "", "x").devices, "");
}

TEST(JobEnvironmentTest, IgnoresEntriesThatAreNoVariables) {
  char good[] = "A=b=c", bad[] = "no equals sign", empty[] = "=x";
  char* entries[] = {good, bad, empty, nullptr};
  EXPECT_THAT(environment_of(entries), ElementsAre(Pair("A", "b=c")));
}

}  // namespace
}  // namespace pounce::worker
