// The gateway outlives its helper: each way in which pounce-slurm can fail is played by a program that follows a plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/threads.h"
#include "base/unique_fd.h"
#include "slurm/slurm_gateway.h"

namespace pounce::slurm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

bool exists(pid_t pid) { return ::kill(pid, 0) == 0; }

class GatewayTest : public testing::Test {
 protected:
  GatewayTest() { plan(""); }
  ~GatewayTest() override { ::unlink(plan_path_.c_str()); }

  void plan(const std::string& lines) { std::ofstream(plan_path_, std::ios::trunc) << lines; }

  // LD_PRELOAD: a sanitizer's library must be first, and this helper needs no libslurm.
  GatewayOptions options() {
    return {
        POUNCE_FAKE_HELPER, seconds(30), {{"FAKE_PLAN", plan_path_}, {"SLURM_CONF", "/somewhere"}, {"LD_PRELOAD", ""}}};
  }

  // Serves the gateway until `done`, as pounced's loop does; ten seconds without news are a failure.
  void serve(const std::function<bool()>& done) {
    while (!done()) {
      pollfd source{gateway_.fd(), POLLIN, 0};
      ASSERT_GT(::poll(&source, 1, 10'000), 0) << "the gateway waits for nothing";
      gateway_.on_readable();
    }
  }

  Result<std::string> version() {
    std::optional<Result<std::string>> answer;
    gateway_.ask(AskVersion{}, [&](Result<std::string> reply) { answer = std::move(reply); });
    serve([&] { return answer.has_value(); });
    return answer.value_or(failure(ErrorCode::kInternal, "no answer"));
  }

  std::string told() {
    const auto text = version();
    return text ? *text : "error: " + text.error().text;
  }

  Result<JobIdentity> submit() {
    std::optional<Result<JobIdentity>> answer;
    gateway_.ask(Submit{}, [&](Result<JobIdentity> reply) { answer = std::move(reply); });
    serve([&] { return answer.has_value(); });
    return answer.value_or(failure(ErrorCode::kInternal, "no answer"));
  }

  std::string plan_path_ = testing::TempDir() + "gateway_plan_" + std::to_string(::getpid());
  SlurmGateway gateway_{options()};
};

TEST_F(GatewayTest, BringsEachAnswerToItsRequestInOrder) {
  std::vector<std::string> order;
  gateway_.ask(AskFacts{}, [&](Result<ClusterFacts> facts) { order.push_back(facts ? facts->cluster : "?"); });
  gateway_.ask(Submit{}, [&](Result<JobIdentity> job) { order.push_back(job ? std::to_string(job->job.value) : "?"); });
  gateway_.ask(Poll{{{{1}, 2, 3}}},
               [&](Result<std::vector<JobView>> jobs) { order.push_back(jobs ? std::to_string(jobs->size()) : "?"); });
  gateway_.ask(Cancel{{{1}, 2, 3}}, [&](Result<Done> done) { order.push_back(done ? "cancelled" : "not cancelled"); });

  serve([&] { return order.size() == 4; });

  EXPECT_THAT(order, ElementsAre("fake", "4711", "1", "cancelled"));
  EXPECT_EQ(gateway_.next_deadline(), TimePoint::max());
}

TEST_F(GatewayTest, StartsTheHelperOnlyWhenItIsAsked) {
  EXPECT_EQ(gateway_.fd(), -1);
  EXPECT_EQ(gateway_.helper_pid(), 0);
}

TEST_F(GatewayTest, GivesTheHelperItsSocketThreeStandardFilesAndNothingElse) {
  const UniqueFd left_open(::dup(STDERR_FILENO));  // not close-on-exec, as some library's would be
  EXPECT_THAT(told(), HasSubstr("fds 0 1 2 3 ;"));
}

TEST_F(GatewayTest, GivesTheHelperNoBlockedSignals) {
  const BlockedSignals as_in_pounced;  // so that the helper is started from such a process
  EXPECT_THAT(told(), HasSubstr("SigBlk:\t0000000000000000"));
}

TEST_F(GatewayTest, GivesTheHelperOnlyTheEnvironmentOfItsOptions) {
  ::setenv("SLURM_MEM_PER_NODE", "500", 1);
  const std::string text = told();
  ::unsetenv("SLURM_MEM_PER_NODE");
  EXPECT_THAT(text, HasSubstr("FAKE_PLAN"));
  EXPECT_THAT(text, Not(HasSubstr("SLURM_MEM_PER_NODE")));
  EXPECT_THAT(text, Not(HasSubstr("HOME")));
}

TEST_F(GatewayTest, AnswersOutcomeUnknownWhenTheHelperDiesWithASubmitInHand) {
  plan("die 1\n");

  const auto job = submit();

  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kOutcomeUnknown);
  EXPECT_THAT(job.error().text, HasSubstr("exit code 1"));
  EXPECT_THAT(job.error().context.at("stderr"), HasSubstr("the reason of its death"));
}

TEST_F(GatewayTest, AnswersUnreachableWhenTheHelperDiesWithAQuestionInHand) {
  plan("die 127\n");

  const auto told = version();

  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::kSlurmUnreachable);
}

TEST_F(GatewayTest, ServesTheNextRequestByANewHelperAtOnceAfterOneDeath) {
  ASSERT_TRUE(version());
  const int first = gateway_.helper_pid();
  plan("die 1\n");
  ASSERT_FALSE(submit());

  ASSERT_TRUE(submit());

  EXPECT_NE(gateway_.helper_pid(), first);
}

TEST_F(GatewayTest, LosesOnlyTheRequestInHandWhenTheHelperDies) {
  plan("die 1\n");
  std::vector<bool> answered;
  gateway_.ask(Submit{}, [&](Result<JobIdentity> job) { answered.push_back(job.has_value()); });
  gateway_.ask(AskFacts{}, [&](Result<ClusterFacts> facts) { answered.push_back(facts.has_value()); });

  serve([&] { return answered.size() == 2; });

  EXPECT_THAT(answered, ElementsAre(false, true));
}

TEST_F(GatewayTest, ReplacesAHelperThatDiedIdleWithoutLosingTheNextRequest) {
  ASSERT_TRUE(version());
  const int first = gateway_.helper_pid();
  ::kill(first, SIGKILL);
  siginfo_t ended;
  ASSERT_EQ(::waitid(P_PID, first, &ended, WEXITED | WNOWAIT), 0);

  EXPECT_TRUE(submit());

  EXPECT_NE(gateway_.helper_pid(), first);
}

TEST_F(GatewayTest, KillsAHelperThatDoesNotAnswerBeforeTheDeadline) {
  plan("hang\n");
  std::optional<Result<JobIdentity>> answer;
  gateway_.ask(Submit{}, [&](Result<JobIdentity> job) { answer = std::move(job); });
  const int helper = gateway_.helper_pid();
  const TimePoint deadline = gateway_.next_deadline();
  EXPECT_LE(deadline - Clock::now(), seconds(30));

  gateway_.on_time(deadline - milliseconds(1));
  EXPECT_FALSE(answer);
  gateway_.on_time(deadline);

  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->error().code, ErrorCode::kOutcomeUnknown);
  EXPECT_THAT(answer->error().text, HasSubstr("30000 ms"));
  EXPECT_FALSE(exists(helper));
}

TEST_F(GatewayTest, TellsNobodyTheAnswerOfAHelperThatWasGivenUp) {
  plan("hang\n");
  int answers = 0;
  gateway_.ask(AskFacts{}, [&](Result<ClusterFacts>) { ++answers; });
  gateway_.on_time(gateway_.next_deadline());
  ASSERT_EQ(answers, 1);
  plan("");  // the helper may have been killed before it took its line

  ASSERT_TRUE(version());

  EXPECT_EQ(answers, 1);
}

class LyingHelperTest : public GatewayTest, public testing::WithParamInterface<const char*> {};

TEST_P(LyingHelperTest, IsReplacedAndItsRequestIsUnclear) {
  plan(std::string(GetParam()) + "\n");
  const auto job = submit();
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kOutcomeUnknown);
  EXPECT_TRUE(submit());
}

INSTANTIATE_TEST_SUITE_P(Lies, LyingHelperTest, testing::Values("garbage", "long_record", "wrong_id"));

TEST_F(GatewayTest, PutsWhatLibslurmPrintedIntoARefusal) {
  plan("refuse rejected\n");
  const auto job = submit();
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kRejected);
  EXPECT_EQ(job.error().text, "Slurm refused: QOSMaxGRESPerUser");
  EXPECT_EQ(job.error().context.at("stderr"), "pounce-slurm: error: QOSMaxGRESPerUser");
}

TEST_F(GatewayTest, PutsWhatLibslurmPrintedBehindWordsOfOurOwn) {
  plan("refuse unsatisfiable\n");

  const auto job = submit();

  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kUnsatisfiable);
  EXPECT_EQ(job.error().text, "Slurm refused; Slurm says: QOSMaxGRESPerUser");
}

TEST_F(GatewayTest, TellsASlurmctldThatIsTooNewForTheLibraryFromARefusal) {
  plan("apart\n");

  const auto job = submit();

  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kVersionMismatch);
  EXPECT_THAT(job.error().text, HasSubstr("the libslurm of an older Slurm than this cluster's slurmctld"));
  EXPECT_THAT(job.error().remedy, HasSubstr("pouncectl rebuild"));
}

TEST_F(GatewayTest, LeavesTheSentenceOfAnErrorThatHasItsOwn) {
  plan("refuse unknown_class\n");
  EXPECT_EQ(submit().error().text, "Slurm refused");
}

// What glibc prints where libslurm is another one, or none.
TEST(GatewayWithForeignHelperTest, SaysInOneSentenceThatItWasBuiltForAnotherSlurm) {
  const std::string program = testing::TempDir() + "foreign_helper_" + std::to_string(::getpid());
  std::ofstream(program)
      << "#!/bin/sh\necho \"$0: error while loading shared libraries: libslurm.so.38: cannot open shared object file: "
         "No such file or directory\" >&2\nexit 127\n";
  ::chmod(program.c_str(), 0755);
  SlurmGateway gateway({program, seconds(30), {{"LD_PRELOAD", ""}}});
  std::optional<Result<JobIdentity>> answer;
  gateway.ask(Submit{}, [&](Result<JobIdentity> job) { answer = std::move(job); });

  while (!answer) {
    pollfd source{gateway.fd(), POLLIN, 0};
    ::poll(&source, 1, gateway.fd() < 0 ? 0 : 10'000);
    gateway.on_readable();
    gateway.on_time(Clock::now());
  }
  ::unlink(program.c_str());

  EXPECT_EQ(answer->error().code, ErrorCode::kVersionMismatch);
  EXPECT_EQ(answer->error().text,
            "pounce-slurm was built for another Slurm than this machine's: libslurm.so.38 cannot be loaded");
  EXPECT_THAT(answer->error().remedy, HasSubstr("pouncectl rebuild"));
}

TEST_F(GatewayTest, LetsAHelperPrintMoreThanAnybodyReads) {
  plan("flood\n");
  EXPECT_TRUE(submit());
}

TEST_F(GatewayTest, DoesNotBlameARequestForWhatWasPrintedBefore) {
  plan("flood\nrefuse rejected\n");
  ASSERT_TRUE(submit());
  EXPECT_EQ(submit().error().context.at("stderr"), "pounce-slurm: error: QOSMaxGRESPerUser");
}

TEST_F(GatewayTest, PausesBetweenHelpersThatDieInARowAndNoLongerThanHalfAMinute) {
  plan("die 1\ndie 1\ndie 1\ndie 1\ndie 1\ndie 1\ndie 1\ndie 1\ndie 1\ndie 1\n");
  int answers = 0;
  const auto ask = [&] { gateway_.ask(AskFacts{}, [&](Result<ClusterFacts>) { ++answers; }); };
  ask();
  serve([&] { return answers == 1; });
  ask();  // the first death costs no pause

  for (const int pause_ms : {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000}) {
    const int expected = answers + 1;
    const TimePoint before = Clock::now();
    serve([&] { return answers == expected; });
    const TimePoint after = Clock::now();

    ask();

    EXPECT_EQ(gateway_.helper_pid(), 0);
    EXPECT_GE(gateway_.next_deadline(), before + milliseconds(pause_ms));
    EXPECT_LE(gateway_.next_deadline(), after + milliseconds(pause_ms));
    gateway_.on_time(gateway_.next_deadline());
    ASSERT_NE(gateway_.helper_pid(), 0);
  }
}

TEST_F(GatewayTest, ForgetsDeathsOnceAHelperHasAnswered) {
  plan("die 1\nanswer\ndie 1\n");
  ASSERT_FALSE(submit());
  ASSERT_TRUE(submit());
  ASSERT_FALSE(submit());
  EXPECT_TRUE(submit());
}

TEST_F(GatewayTest, LetsACallbackAskAgain) {
  int answers = 0;
  gateway_.ask(AskFacts{}, [&](Result<ClusterFacts>) {
    ++answers;
    gateway_.ask(AskFacts{}, [&](Result<ClusterFacts>) { ++answers; });
  });
  serve([&] { return answers == 2; });
  EXPECT_EQ(answers, 2);
}

TEST_F(GatewayTest, EndsItsHelperWhenItIsDestroyed) {
  int helper = 0;
  {
    SlurmGateway gateway(options());
    gateway.ask(AskFacts{}, [](Result<ClusterFacts>) { FAIL() << "a destroyed gateway answers nothing"; });
    helper = gateway.helper_pid();
    ASSERT_TRUE(exists(helper));
  }
  EXPECT_FALSE(exists(helper));
}

TEST(GatewayWithoutHelperTest, TellsFromTheLoopThatTheProgramIsMissing) {
  SlurmGateway gateway({"/nowhere/pounce-slurm", seconds(30), {}});
  std::optional<Result<ClusterFacts>> answer;
  gateway.ask(AskFacts{}, [&](Result<ClusterFacts> facts) { answer = std::move(facts); });
  EXPECT_FALSE(answer) << "answered from inside the call";

  gateway.on_time(gateway.next_deadline());

  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->error().code, ErrorCode::kNoSlurm);
  EXPECT_THAT(answer->error().text, HasSubstr("/nowhere/pounce-slurm"));
}

}  // namespace
}  // namespace pounce::slurm
