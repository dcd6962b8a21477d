// What the person reads, and which job may serve which want.
#include "core/lease/words.h"

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

TEST(WordsTest, APreemptedJobTellsTheGraceThatItHad) {
  JobView view;
  view.incarnation.job = {7};
  view.end = JobEnd::kPreempted;
  const Error with = error_of_end(view, std::chrono::seconds(30)), without = error_of_end(view);
  EXPECT_EQ(with.code, ErrorCode::kPreempted);
  EXPECT_EQ(with.text, "Slurm job 7 was preempted by a job that goes first, with 30 s of grace to end in.");
  EXPECT_EQ(with.context.at("grace_s"), "30");
  EXPECT_EQ(without.text, "Slurm job 7 was preempted by a job that goes first.");
  EXPECT_FALSE(without.context.contains("grace_s"));
}

TEST(CoversTest, WhatAWantDoesNotSayMayBeAnything) {
  EXPECT_TRUE(covers(asked(1, "a100", 8), asked(1)));
  EXPECT_FALSE(covers(asked(1), asked(1, "a100")));
}

TEST(CoversTest, WhatIsNotKnownOfAnAdoptedJobIsNotTakenForGranted) {
  const Resources plain = asked(1);
  for (auto change : {+[](Resources& want) { want.gpu_memory_mib = 40'960; }, +[](Resources& want) { want.cuda = 12'000; },
                      +[](Resources& want) { want.account = "bio"; }, +[](Resources& want) { want.not_nodes = "g1"; },
                      +[](Resources& want) { want.reservation = "course"; }, +[](Resources& want) { want.slurm = {{"constraint", "nvlink"}}; },
                      +[](Resources& want) { want.placement = Placement::kSpread; }}) {
    Resources want = plain;
    change(want);
    EXPECT_FALSE(covers(plain, want));
  }
}

TEST(CoversTest, GpusMustBeEqualAlsoWhenNoneIsAsked) {
  EXPECT_FALSE(covers(asked(1), asked(0)));
  EXPECT_FALSE(covers(asked(1), asked(2)));
}

TEST(ErrorOfEndTest, CarriesTheEvidence) {
  JobView view;
  view.incarnation.job = SlurmJobId{7};
  view.nodes = "g1";
  view.signal = 9;
  view.end = JobEnd::kFailed;
  const Error error = error_of_end(view);
  EXPECT_EQ(error.text, "Slurm job 7 was ended by signal 9.");
  EXPECT_EQ(error.context.at("node"), "g1");
  EXPECT_EQ(error.context.at("signal"), "9");
}

TEST(ErrorOfEndTest, ABatchStateBeyondTheEnumIsStillALeaseEnd) {
  JobView view;
  view.end = static_cast<JobEnd>(200);
  EXPECT_EQ(error_of_end(view).code, ErrorCode::kLeaseEnded);
}

}  // namespace
}  // namespace pounce::lease
