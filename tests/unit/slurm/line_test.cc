#include <gtest/gtest.h>

#include "slurm/partition.h"

namespace pounce::slurm {
namespace {

const InLine kMine{50, 100, "gpu"};

TEST(LineTest, HigherPriorityGoesFirstThenTheOlderJob) {
  EXPECT_EQ(jobs_ahead({kMine, {60, 101, "gpu"}, {49, 100, "gpu"}, {51, 100, "gpu"}, {10, 99, "gpu"}}, kMine), 2);
}

TEST(LineTest, OnlyJobsThatMayUseTheSamePartitionCount) {
  EXPECT_EQ(jobs_ahead({{1, 200, "cpu"}, {2, 200, "cpu,gpu"}, {3, 200, "gpux"}, {4, 200, "xgpu,cpu"}}, kMine), 1);
  EXPECT_EQ(jobs_ahead({{1, 200, "cpu"}, {2, 200, "gpu"}}, {50, 100, "cpu,gpu"}), 2);
}

TEST(LineTest, HeldJobsStandInNobodysWay) { EXPECT_EQ(jobs_ahead({{1, 0, "gpu"}}, {50, 0, "gpu"}), 0); }

}  // namespace
}  // namespace pounce::slurm
