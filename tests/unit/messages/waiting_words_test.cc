// Every reason that Slurm gives has words of its own that need no knowledge of Slurm; limits come with their numbers.
#include "messages/waiting_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>

#include "job/slurm_reason.h"
#include "slurm_reasons.h"

namespace pounce::messages {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string told(std::string_view word, LimitUse limit = {}, std::string class_name = "lion") {
  return waiting_words({std::string(word), std::string(word), std::move(class_name), std::move(limit), -1});
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

class KnownReasonTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(KnownReasonTest, HasWordsWithoutSlurmsVocabulary) {
  const std::string words = lower(told(GetParam()));

  EXPECT_THAT(words, Not(HasSubstr("slurm says")));
  for (const char* strange : {"qos", "tres", "gres", "assoc", "partition", "grp", "slurmctld", "slurmdbd", "burst",
                              "walltime", "billing", "backfill", "federat", "front end", "prolog", "walldur"})
    EXPECT_THAT(words, Not(HasSubstr(strange)));
}

TEST_P(KnownReasonTest, ReadsTheSameWithNumbersWhereItIsALimit) {
  const auto limit = job::limit_of(GetParam());
  const std::string with = told(GetParam(), {"gres/gpu", 4, 3, 2}), without = told(GetParam());

  const bool has_numbers = limit && limit->measure == job::Limit::Measure::kAtOnce;
  EXPECT_EQ(with != without, has_numbers);
  EXPECT_EQ(with.find('4') != std::string::npos, has_numbers);
}

INSTANTIATE_TEST_SUITE_P(EveryReason, KnownReasonTest, ::testing::ValuesIn(kSlurmReasons),
                         [](const auto& one) { return std::string(one.param); });

TEST(ReasonTest, AnUnknownOneIsToldAsSlurmSaysIt) {
  EXPECT_EQ(told("WaitsForTheMoon"), "Slurm says WaitsForTheMoon");
  EXPECT_EQ(told("QOSMaxMoonsPerUser"), "Slurm says QOSMaxMoonsPerUser");
}

TEST(ReasonTest, ALimitOnJobsSaysHowManyRun) {
  EXPECT_EQ(told("QOSMaxJobsPerUserLimit", {"job", 4, 4, 1}),
            "a limit of class lion is reached: 4 jobs run at a time, and 4 of yours do; it ends when one ends, or an "
            "admin can "
            "raise the limit");
  EXPECT_EQ(
      told("AssocGrpJobsLimit", {"job", 1, 1, 1}),
      "a limit of your account is reached: 1 job runs at a time for all of the account together, and 1 does; it ends "
      "when one ends, or an admin can raise the limit");
}

TEST(ReasonTest, ALimitOnGpusSaysWhichHowManyAndWhatIsAskedFor) {
  EXPECT_EQ(
      told("QOSMaxGRESPerUser", {"gres/gpu:a100", 2, 1, 2}),
      "a limit of class lion is reached: 2 GPUs of type a100 for one user; yours have 1, and this one asks for 2; it "
      "ends when enough is given back, or an admin can raise the limit");
}

TEST(ReasonTest, WhatNoWaitingChangesSaysSo) {
  EXPECT_EQ(told("QOSMaxWallDurationPerJobLimit", {"time", 30, 0, 90}, "cheetah"),
            "class cheetah does not give so much: at most 30 min for one job; this one asks for 1 h 30 min; it never "
            "starts as "
            "it is: ask for less, or an admin can raise the limit");
  EXPECT_EQ(
      told("QOSMaxGRESPerUser", {"gres/gpu", 0, 0, 1}, "panther"),
      "class panther does not give so much: at most 0 GPUs for one user; yours have 0, and this one asks for 1; it "
      "never starts as it is: ask for less, or an admin can raise the limit");
  EXPECT_EQ(
      told("QOSMinGRES", {"gres/gpu", 2, 0, 1}),
      "class lion is for larger jobs: at least 2 GPUs for one job; this one asks for 1 GPU; it never starts as it is: "
      "ask for more");
}

TEST(ReasonTest, ALimitWhoseNumbersAreHiddenIsStillNamed) {
  EXPECT_EQ(
      told("QOSMaxJobsPerUserLimit", {}, ""),
      "a limit of its class is reached: running jobs for one user; it ends when one ends, or an admin can raise the "
      "limit");
  EXPECT_THAT(told("AssocGrpCPUMinutesLimit"), HasSubstr("CPUs, counted over time, for all of the account together"));
}

TEST(ReasonTest, HowManyAreAheadIsSaidWhereItIsKnown) {
  const auto with = [](const char* word, std::int32_t ahead) { return waiting_words({word, word, "", {}, ahead}); };

  EXPECT_EQ(with("Priority", 3), "other jobs go first; 3 jobs are ahead of it");
  EXPECT_EQ(with("Priority", 1), "other jobs go first; 1 job is ahead of it");
  EXPECT_EQ(with("Resources", 0), "everything that fits is in use; it is the next");
  EXPECT_EQ(with("Resources", -1), "everything that fits is in use");
}

TEST(ReasonTest, NodesThatAreDownAreNamed) {
  EXPECT_EQ(waiting_words({"ReqNodeNotAvail", "ReqNodeNotAvail, UnavailableNodes:g1", "", {}, -1}),
            "nodes that it needs are down or kept free for now (g1); an admin can say more");
  EXPECT_EQ(
      waiting_words({"Resources",
                     "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
                     "",
                     {},
                     -1}),
      "all nodes that fit are down, or kept for others; an admin can say more");
}

TEST(ReasonTest, NodesThatAreReservedForMaintenanceAreNoReservationThatSomebodyAskedFor) {
  JobView view;
  view.reason_word = "Reservation";
  view.reason = "ReqNodeNotAvail, Reserved for maintenance";
  EXPECT_EQ(waiting_words(job::waiting_of(view)),
            "nodes that it needs are down or kept free for now; an admin can say more");
}

// docs/waiting.md shows words for reasons: they are these.
TEST(ReasonPageTest, QuotesTheCode) {
  std::ifstream file(POUNCE_SOURCE_DIR "/docs/waiting.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const auto from = page.find("<!-- reasons begin -->"), to = page.find("<!-- reasons end -->");
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  int rows = 0;
  for (const std::string_view word : kSlurmReasons) {
    const std::string name = "| `" + std::string(word) + "` | ";
    const auto at = page.substr(from, to - from).find(name);
    if (at == std::string::npos) continue;
    ++rows;
    EXPECT_EQ(page.substr(from + at + name.size()).substr(0, told(word).size() + 2), told(word) + " |") << word;
  }
  for (const std::string_view word : kSlurmReasons)
    if (!job::limit_of(word)) {
      EXPECT_THAT(page, HasSubstr("| `" + std::string(word) + "` |"));
    }
  EXPECT_GT(rows, 50);
}

}  // namespace
}  // namespace pounce::messages
