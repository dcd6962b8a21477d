// The catalogue: each code has a sentence of its own, with its arguments.
#include "messages/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace pounce::messages {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::set<CauseCode> all_codes() {
  std::set<CauseCode> codes;
#define POUNCE_CAUSE(enumerator, word) codes.insert(CauseCode::enumerator);
  POUNCE_CAUSES(POUNCE_CAUSE)
#undef POUNCE_CAUSE
  return codes;
}

Cause example(CauseCode code) {
  return {code, 44, 3, 2, 61s, "g1", "a word", "as it was said", {Cause{CauseCode::kIdle}}};
}

TEST(SentenceTest, EveryCodeHasOneOfItsOwn) {
  std::map<std::string, CauseCode> seen;
  for (const CauseCode code : all_codes()) {
    const std::string words = sentence(example(code));
    EXPECT_EQ(words.empty(), code == CauseCode::kNone) << pounce::words(code).of(code);
    EXPECT_TRUE(seen.emplace(words, code).second) << "said twice: " << words;
  }
}

TEST(SentenceTest, NoneHasTwoBlanksOrALooseEnd) {
  for (const CauseCode code : all_codes()) {
    const std::string words = sentence(example(code));
    EXPECT_EQ(words.find("  "), std::string::npos) << words;
    EXPECT_FALSE(words.starts_with(' ') || words.ends_with(' ')) << words;
  }
}

TEST(SentenceTest, APreemptedJobTellsTheGraceThatItHad) {
  EXPECT_EQ(sentence({.code = CauseCode::kJobPreempted, .job = 7, .time = 30s}),
            "Slurm job 7 was preempted by a job that goes first, with 30 s of grace to end in.");
  EXPECT_EQ(sentence({.code = CauseCode::kJobPreempted, .job = 7}),
            "Slurm job 7 was preempted by a job that goes first.");
}

TEST(SentenceTest, WhereSrunIsTheCauseItsErrorSaysWhatToDoThere) {
  for (const CauseCode code : {CauseCode::kJobNoSrun, CauseCode::kJobSrunFailed}) {
    EXPECT_THAT(sentence({.code = code, .job = 7}), HasSubstr("srun"));
    EXPECT_FALSE(remedy({code}).empty());
  }
  EXPECT_TRUE(remedy({CauseCode::kJobExited}).empty()) << "the error code's own";
}

TEST(SentenceTest, WhatLiesBehindIsSaidToo) {
  EXPECT_EQ(
      sentence({.code = CauseCode::kRetrySoon, .because = {{.code = CauseCode::kJobExited, .job = 7, .number = 1}}}),
      "trying again soon: Slurm job 7 ended by itself with exit code 1.");
  EXPECT_EQ(
      sentence({.code = CauseCode::kSlurmSilent, .because = {{.code = CauseCode::kSaid, .said = "slurmctld is down"}}}),
      "Slurm does not answer (slurmctld is down); running work goes on");
  EXPECT_EQ(sentence({CauseCode::kLooking}), "looking whether Slurm has the job");
  EXPECT_EQ(sentence({.code = CauseCode::kLooking,
                      .because = {{.code = CauseCode::kSaid, .said = "slurmctld takes no job for now"}}}),
            "looking whether Slurm has the job (slurmctld takes no job for now)");
}

TEST(ReasonTest, OfAQueuedJobIsWhatSlurmSaysInPlainWords) {
  const model::QueueWait wait{"QOSMaxJobsPerUserLimit", -1, 0, {"job", 4, 4, 1}};

  EXPECT_EQ(reason({.code = CauseCode::kSlurmWaits, .word = "QOSMaxJobsPerUserLimit"}, "lion", wait),
            "a limit of class lion is reached: 4 jobs run at a time, and 4 of yours do; it ends when one ends, or an "
            "admin can raise the limit");
}

TEST(ReasonTest, SaysWhenALeaseIsAskedForAtTheEarliest) {
  EXPECT_THAT(reason(Cause{CauseCode::kCancelledOutside}, "", {}, 1'700'000'000),
              testing::ContainsRegex("; not before [0-2][0-9]:[0-5][0-9]$"));
}

TEST(ReasonTest, OfANewTryHasNoFullStopInItsMiddle) {
  const Cause failed{.code = CauseCode::kJobNotStarted, .job = 7, .node = "g1"};
  EXPECT_THAT(
      reason({.code = CauseCode::kRetrySoon, .because = {failed}}, "", {}, 1'700'000'000),
      testing::ContainsRegex(
          "^trying again soon: Slurm job 7 could not be started on g1, .* the node cannot run jobs; not before [0-2]"));
}

TEST(BasisTest, TellsTheQueueThatWasPlayedAndWhatIsKnownOfItsLengths) {
  Eta eta{1'700'000'000, 1'699'999'900, 1'700'000'600, Eta::From::kQueue, 2, 1, 0};
  EXPECT_EQ(basis(eta), "2 running jobs and 1 job ahead; how long jobs really run is not known yet");

  eta.ahead = 0, eta.seen = 12;
  EXPECT_EQ(basis(eta), "2 running jobs, and how long 12 jobs really ran");
}

TEST(BasisTest, TellsThatItIsSlurmsPlan) {
  EXPECT_EQ(basis({1'700'000'000, 0, 0, Eta::From::kPlan, 0, 0, 1}),
            "the start that Slurm plans, and how long 1 job really ran");
}

TEST(TextTest, OfAnErrorFromOutsideIsItsOwn) {
  EXPECT_EQ(text({ErrorCode::kRejected, "Slurm says no.", {}, {}}), "Slurm says no.");
  EXPECT_EQ(text(error_of(ErrorCode::kLeaseEnded, CauseCode::kIdle)),
            "Given back: nothing waited for it or ran on it.");
}

}  // namespace
}  // namespace pounce::messages
