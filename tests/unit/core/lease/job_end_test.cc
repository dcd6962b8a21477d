// Which error a job's end is, and which job may serve which request.
#include "core/lease/job_end.h"

#include <gtest/gtest.h>

namespace pounce::lease {
namespace {

using namespace std::chrono_literals;

Resources asked(std::uint32_t gpus, std::string type = {}, std::uint32_t cpus = 0) {
  Resources resources;
  resources.class_name = "cheetah";
  resources.gpus = gpus;
  resources.gpu_type = std::move(type);
  resources.cpus = cpus;
  return resources;
}

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

TEST(CoversTest, WhatARequestDoesNotSayMayBeAnything) {
  EXPECT_TRUE(covers(asked(1, "a100", 8), asked(1)));
  EXPECT_FALSE(covers(asked(1), asked(1, "a100")));
}

TEST(CoversTest, WhatIsNotKnownOfAnAdoptedJobIsNotTakenForGranted) {
  const Resources plain = asked(1);
  for (auto change : {+[](Resources& request) { request.gpu_memory_mib = 40'960; }, +[](Resources& request) { request.cuda = 12'000; },
                      +[](Resources& request) { request.account = "bio"; }, +[](Resources& request) { request.not_nodes = "g1"; },
                      +[](Resources& request) { request.reservation = "course"; }, +[](Resources& request) { request.slurm = {{"constraint", "nvlink"}}; },
                      +[](Resources& request) { request.placement = Placement::kSpread; }, +[](Resources& request) { request.nice = 100; }}) {
    Resources request = plain;
    change(request);
    EXPECT_FALSE(covers(plain, request));
  }
}

// Else a request for one CPU does not get its own queued job back after a restart without a journal.
TEST(CoversTest, EveryJobHasOneCpu) {
  EXPECT_TRUE(covers(asked(1), asked(1, {}, 1)));
  EXPECT_FALSE(covers(asked(1), asked(1, {}, 2)));
}

TEST(CoversTest, GpusMustBeEqualAlsoWhenNoneIsAsked) {
  EXPECT_FALSE(covers(asked(1), asked(0)));
  EXPECT_FALSE(covers(asked(1), asked(2)));
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
}

TEST(ErrorOfEndTest, AJobThatSrunLeftWithoutWorkersSaysSo) {
  JobView view;
  view.job_identity.job = {7};
  view.end = JobEnd::kFailed;
  for (const auto &[exit, cause] : {std::pair{JobExit::kNoSrun, CauseCode::kJobNoSrun}, {JobExit::kSrunFailed, CauseCode::kJobSrunFailed}}) {
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
}  // namespace pounce::lease
