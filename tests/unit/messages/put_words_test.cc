// Values cross as codes and numbers; who shows one adds the words.
#include "messages/put_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/json.h"

namespace pounce::messages {
namespace {

using ::testing::StartsWith;

const Cause kIdle{CauseCode::kIdle};
constexpr char kIdleWords[] = "Given back: nothing waited for it or ran on it.";

model::StatusDocument shown(model::StatusDocument document) {
  const protocol::StatusIs answer = with_words(protocol::StatusIs{1, model::to_text(document)});
  return model::parse<model::StatusDocument>(answer.document).value();
}

TEST(PutWordsTest, ALeaseSaysWhyItIsAsItIs) {
  protocol::LeaseStatus status;
  status.cause = {.code = CauseCode::kSlurmWaits, .word = "Priority"};
  status.wait.ahead = 3;

  EXPECT_EQ(with_words(status).reason, "other jobs go first; 3 jobs are ahead of it");
}

TEST(PutWordsTest, ALeaseThatSlurmGivesSomethingElseThanWasRequestedSaysSo) {
  protocol::LeaseStatus status;
  status.cause = {.code = CauseCode::kSlurmWaits, .word = "Priority"};
  status.given.time = std::chrono::minutes(5);

  EXPECT_EQ(with_words(status).reason,
            "other jobs go first; Slurm gives this job 5 min, another time than was requested");

  status.given = {1, 2, 2048, std::chrono::minutes(5)};
  EXPECT_EQ(with_words(status).given.words,
            "Slurm gives this job 1 GPU, 2 CPUs, 2048 MiB of memory, 5 min, not what was requested");
}

TEST(PutWordsTest, AnExpectedStartInsideAnotherValueSaysWhatItRestsOn) {
  protocol::LeaseStatus status;
  status.wait.eta = {1'700'000'000, 1'699'999'900, 1'700'000'600, Eta::From::kQueue, 3};

  EXPECT_THAT(with_words(status).wait.eta.basis, StartsWith("3 running jobs"));
}

TEST(PutWordsTest, AQueuedJobSaysWhyItWaitsAndARunningOneNothing) {
  protocol::QueueIs queue;
  queue.rows.resize(2);
  queue.rows[0].word = queue.rows[0].reason = "Priority";

  const protocol::QueueIs told = with_words(queue);

  EXPECT_EQ(told.rows[0].why, "other jobs go first");
  EXPECT_EQ(told.rows[1].why, "");
}

TEST(PutWordsTest, AChoiceSaysWhichLimitItWouldMeet) {
  protocol::ClassesIs answer;
  answer.choices.resize(1);
  answer.choices[0].cause = {.code = CauseCode::kClassJobsTaken, .number = 4, .used = 4, .word = "lion"};

  EXPECT_EQ(with_words(answer).choices[0].against, "class lion runs 4 jobs of yours at a time, and 4 run");
}

TEST(PutWordsTest, AnErrorOfACoreGetsItsTextAndAnotherKeepsItsOwn) {
  EXPECT_EQ(with_words(protocol::Refused{error_of(ErrorCode::kLeaseEnded, kIdle)}).error.text, kIdleWords);
  EXPECT_EQ(with_words(Error{ErrorCode::kRejected, "Slurm says no.", {}, {}}).text, "Slurm says no.");
}

TEST(PutWordsTest, EachLineOfAHistorySaysWhatHappened) {
  model::StatusDocument document;
  document.leases.resize(1);
  document.leases[0].history = {{2, {.code = CauseCode::kWorkerConnected, .number = 1, .node = "g1"}, {}, {}, {}},
                                {1, Cause{CauseCode::kReady}, "starting", "idle", {}}};

  const auto history = shown(document).leases.at(0).history;

  EXPECT_EQ(history.at(0).what, "worker 1 connected from g1");
  EXPECT_EQ(history.at(1).what, "starting -> idle: ready");
}

TEST(PutWordsTest, WhatWasUsedComesWithASuggestion) {
  model::StatusDocument document;
  document.ended.resize(1);
  document.ended[0].cause = kIdle;
  document.ended[0].resources.memory_mib = 32 * 1024;
  document.ended[0].used.figures = {60'000, 0, 0, 1200};

  const auto ended = shown(document).ended.at(0);

  EXPECT_THAT(ended.used.suggestion, StartsWith("asked 32 GiB of memory, used 1.2 GiB"));
  EXPECT_EQ(ended.reason, kIdleWords);
}

TEST(PutWordsTest, ALeaseThatAnOlderPouncedWroteDownKeepsItsWords) {
  model::StatusDocument document;
  document.ended.resize(1);
  document.ended[0].reason = "Given back.";

  EXPECT_EQ(shown(document).ended.at(0).reason, "Given back.");
}

TEST(PutWordsTest, ADocumentThatIsNotUnderstoodComesBackAsItIs) {
  EXPECT_EQ(with_words(protocol::StatusIs{1, "no JSON"}).document, "no JSON");
}

}  // namespace
}  // namespace pounce::messages
