// Proofs are checked beside the loop: in order, answered through a descriptor, and never more than fit.
#include <gtest/gtest.h>
#include <poll.h>

#include <latch>
#include <vector>

#include "pounced/net/handshake.h"

namespace pounce::daemon {
namespace {

void serve_until(ProofChecker& checker, const std::vector<std::string>& answers, std::size_t count) {
  while (answers.size() < count) {
    pollfd bell{checker.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&bell, 1, 10'000), 1) << "no answer";
    checker.on_readable();
  }
}

TEST(ProofCheckerTest, AnswersEachQuestionWithItsOwnOutcomeInOrder) {
  ProofChecker checker([](const identity::Claim& claim, const std::string& proof) -> Result<void> {
    if (proof == claim.subject) return {};
    return failure(ErrorCode::kNotAuthenticated, "wrong");
  });
  std::vector<std::string> answers;
  const auto ask = [&](const std::string& subject, const std::string& proof) {
    identity::Claim claim;
    claim.subject = subject;
    ASSERT_TRUE(checker.check(claim, proof, [&answers, subject](const Result<void>& outcome) {
      answers.push_back(subject + (outcome ? " in" : " out"));
    }));
  };
  ask("a", "a");
  ask("b", "forged");
  ask("c", "c");
  serve_until(checker, answers, 3);
  EXPECT_EQ(answers, (std::vector<std::string>{"a in", "b out", "c in"}));
}

TEST(ProofCheckerTest, TurnsAwayWhatItCannotHoldAndTakesAgainWhatItCan) {
  std::latch open(1);
  ProofChecker checker([&](const identity::Claim&, const std::string&) -> Result<void> {
    open.wait();
    return {};
  });
  std::vector<std::string> answers;
  const auto ask = [&] { return checker.check({}, "", [&](const Result<void>&) { answers.push_back("in"); }); };
  std::size_t taken = 0;
  while (ask()) ++taken;
  EXPECT_GE(taken, ProofChecker::kMostWaiting);
  EXPECT_LE(taken, ProofChecker::kMostWaiting + 1);  // one is with the thread already
  open.count_down();
  serve_until(checker, answers, taken);
  EXPECT_TRUE(ask());
}

TEST(ProofCheckerTest, EndsWithQuestionsStillWaiting) {
  std::vector<std::string> answers;
  {
    ProofChecker checker([](const identity::Claim&, const std::string&) -> Result<void> { return {}; });
    for (int i = 0; i < 50; ++i) checker.check({}, "", [&](const Result<void>&) { answers.push_back("in"); });
  }
  EXPECT_TRUE(answers.empty());
}

}  // namespace
}  // namespace pounce::daemon
