// What Slurm says of a job, in our types: limits, waits, ends.
#include "job/slurm_reason.h"

#include <gtest/gtest.h>

namespace pounce::job {
namespace {

using namespace std::chrono_literals;

TEST(ErrorOfEndTest, APreemptedJobTellsTheGraceThatItHad) {
  JobView view;
  view.job_identity.job = {7};
  view.end = JobEnd::kPreempted;
  const Error with = error_of_end(view, std::chrono::seconds(30)), without = error_of_end(view);
  EXPECT_EQ(with.code, ErrorCode::kPreempted);
  EXPECT_EQ(with.cause, (Cause{.code = CauseCode::kJobPreempted, .job = 7, .time = 30s}));
  EXPECT_EQ(with.context.at("grace_s"), "30");
  EXPECT_EQ(without.cause, (Cause{.code = CauseCode::kJobPreempted, .job = 7}));
  EXPECT_FALSE(without.context.contains("grace_s"));
}

TEST(ErrorOfEndTest, CarriesTheEvidence) {
  JobView view;
  view.job_identity.job = SlurmJobId{7};
  view.nodes = "g1";
  view.signal = 9;
  view.end = JobEnd::kFailed;
  const Error error = error_of_end(view);
  EXPECT_EQ(error.cause, (Cause{.code = CauseCode::kJobSignal, .job = 7, .number = 9}));
  EXPECT_EQ(error.context.at("node"), "g1");
  EXPECT_EQ(error.context.at("signal"), "9");
  EXPECT_EQ(error.signal, 9);
  EXPECT_EQ(error.exit_code, std::nullopt);
}

TEST(ErrorOfEndTest, AJobThatSrunLeftWithoutWorkersSaysSo) {
  JobView view;
  view.job_identity.job = {7};
  view.end = JobEnd::kFailed;
  for (const auto& [exit, cause] :
       {std::pair{JobExit::kNoSrun, CauseCode::kJobNoSrun}, {JobExit::kSrunFailed, CauseCode::kJobSrunFailed}}) {
    view.exit_code = static_cast<int>(exit);
    const Error error = error_of_end(view);
    EXPECT_EQ(error.cause, (Cause{.code = cause, .job = 7}));
    EXPECT_TRUE(is_of_srun(error));
  }
  view.exit_code = 1;
  EXPECT_FALSE(is_of_srun(error_of_end(view)));
}

TEST(ErrorOfEndTest, AJobThatSlurmCouldNotStartIsNobodysCancel) {
  JobView view;
  view.job_identity.job = {7};
  view.nodes = "g1";
  view.end = JobEnd::kNotStarted;
  EXPECT_EQ(error_of_end(view).code, ErrorCode::kLeaseEnded);
  EXPECT_EQ(error_of_end(view).cause, (Cause{.code = CauseCode::kJobNotStarted, .job = 7, .node = "g1"}));
}

TEST(ErrorOfEndTest, ABatchStateBeyondTheEnumIsStillALeaseEnd) {
  JobView view;
  view.end = static_cast<JobEnd>(200);
  EXPECT_EQ(error_of_end(view).code, ErrorCode::kLeaseEnded);
}

}  // namespace
}  // namespace pounce::job
