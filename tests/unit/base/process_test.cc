// Real children of this test: what they get, what they do not get, and how their end is told.
#include "base/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/unique_fd.h"

namespace pounce {
namespace {

using testing::HasSubstr;

Program shell(const std::string& script) {
  Program program;
  program.command = {"/bin/sh", "-c", script};
  return program;
}

std::string said(Program program) {
  const auto finished = output_of(std::move(program));
  EXPECT_TRUE(finished) << finished.error().text;
  return finished ? finished->output : "";
}

// ---- what a child gets ----

TEST(ProcessTest, RunsWithExactlyItsEnvironment) {
  Program program{.command = {"/usr/bin/env"}};
  program.environment = std::map<std::string, std::string>{{"GREETING", "good day"}};
  EXPECT_EQ(said(program), "GREETING=good day\n");
}

TEST(ProcessTest, AnEmptyEnvironmentIsNotOurs) {
  Program program{.command = {"/usr/bin/env"}};
  program.environment.emplace();
  EXPECT_EQ(said(program), "");
}

TEST(ProcessTest, TakesOurEnvironmentWhereNoneIsNamed) {
  ::setenv("POUNCE_PROCESS_TEST", "here", 1);
  EXPECT_EQ(said(shell("echo $POUNCE_PROCESS_TEST")), "here\n");
  ::unsetenv("POUNCE_PROCESS_TEST");
}

TEST(ProcessTest, RunsInItsDirectory) {
  Program program = shell("pwd -P");
  program.directory = "/usr";
  EXPECT_EQ(said(program), "/usr\n");
}

TEST(ProcessTest, FindsAProgramInThePath) { EXPECT_EQ(said({.command = {"echo", "found"}}), "found\n"); }

TEST(ProcessTest, GivesNoDescriptorThatIsNotNamed) {
  const UniqueFd left_open(::dup(STDERR_FILENO)), high(::fcntl(STDERR_FILENO, F_DUPFD, 200));
  EXPECT_EQ(said(shell("ls /proc/self/fd | tr '\\n' ' '")), "0 1 2 3 ") << "3 is what ls itself reads the folder by";
}

// The two numbers are each other's: a plain dup2 of one after the other would lose the first.
TEST(ProcessTest, ExchangesDescriptors) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  ASSERT_EQ(::write(writer.get(), "crossed\n", 8), 8);
  Program program = shell("read word <&" + std::to_string(writer.get()) + "; echo $word");
  program.descriptors = {{reader.get(), writer.get()}, {writer.get(), reader.get()}};
  EXPECT_EQ(said(program), "crossed\n");
}

TEST(ProcessTest, GivesNothingToReadAndNowhereToWriteWhereNothingIsNamed) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  Program program = shell("all=$(cd /proc/$$/fd && readlink 0 1 2); echo \"$all\" >&3");
  program.descriptors = {{3, writer.get()}};

  const auto pid = start_process(program);

  ASSERT_TRUE(pid) << pid.error().text;
  writer.reset();
  EXPECT_EQ(wait_for(*pid), 0);
  char text[64] = {};
  EXPECT_EQ(::read(reader.get(), text, sizeof text), 30);
  EXPECT_STREQ(text, "/dev/null\n/dev/null\n/dev/null\n");
}

TEST(ProcessTest, BlocksAndIgnoresNoSignal) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  auto* const old = ::signal(SIGPIPE, SIG_IGN);

  const std::string text = said(shell("grep -E 'SigBlk|SigIgn' /proc/self/status"));

  ::signal(SIGPIPE, old);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(ProcessTest, LeavesOurSignalMaskAsItWas) {
  sigset_t one, before, after;
  ::sigemptyset(&one);
  ::sigaddset(&one, SIGUSR2);
  ::sigprocmask(SIG_SETMASK, &one, &before);
  said(shell(":"));
  ::sigprocmask(SIG_SETMASK, &before, &after);
  EXPECT_TRUE(::sigismember(&after, SIGUSR2));
  EXPECT_FALSE(::sigismember(&after, SIGTERM));
}

TEST(ProcessTest, TakesTheFileMask) {
  Program program = shell("umask");
  program.file_mask = 077;
  EXPECT_EQ(said(program), "0077\n");
}

TEST(ProcessTest, StandsInAGroupOrASessionOfItsOwn) {
  const std::string who = "set -- $(cat /proc/$$/stat); echo $(($5 == $1)) $(($6 == $1))";
  Program program = shell(who);
  EXPECT_EQ(said(program), "0 0\n");
  program.standing = Standing::kOwnGroup;
  EXPECT_EQ(said(program), "1 0\n");
  program.standing = Standing::kOwnSession;
  EXPECT_EQ(said(program), "1 1\n");
}

// Its starter is one that ends at once; ours is the wait for that one, so that nothing of it is left to us.
TEST(ProcessTest, AnOrphanIsNotOurChildAndLeadsNoSession) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  Program program =
      shell("set -- $(cat /proc/$$/stat); echo $(($4 == " + std::to_string(::getpid()) + ")) $(($6 == $1)) >&3");
  program.descriptors = {{3, writer.get()}};
  program.standing = Standing::kOrphan;

  ASSERT_TRUE(start_process(program));

  writer.reset();
  char text[16] = {};
  EXPECT_EQ(::read(reader.get(), text, sizeof text), 4);
  EXPECT_STREQ(text, "0 0\n");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

// The child's parent is a process of this test that dies when it is told to.
TEST(ProcessTest, EndsWithItsParentWhereThatIsAsked) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  const auto parent = start_function(Standing::kOurs, 0, [&writer] {
    Program program{.command = {"sleep", "1000"}};
    program.descriptors = {{3, writer.get()}};
    program.death_signal = SIGKILL;
    return start_process(program) ? 0 : 1;
  });
  ASSERT_TRUE(parent);
  writer.reset();
  EXPECT_EQ(wait_for(*parent), 0);
  char nothing = 0;
  EXPECT_EQ(::read(reader.get(), &nothing, 1), 0) << "nobody holds the other end any more";
}

// ---- what fails ----

TEST(ProcessTest, SaysWhichProgramIsNotThere) {
  const auto pid = start_process({.command = {"/nowhere/program"}});
  ASSERT_FALSE(pid);
  EXPECT_EQ(pid.error().text, "cannot start /nowhere/program: No such file or directory");
}

TEST(ProcessTest, SaysThatAProgramIsNotInThePath) {
  EXPECT_THAT(start_process({.command = {"no-such-program"}}).error().text, HasSubstr("no-such-program: No such file"));
}

TEST(ProcessTest, SaysThatAFileIsNoProgram) {
  EXPECT_THAT(start_process({.command = {"/etc/passwd"}}).error().text, HasSubstr("/etc/passwd: Permission denied"));
}

TEST(ProcessTest, SaysWhichDirectoryIsNotThere) {
  Program program = shell(":");
  program.directory = "/nowhere";
  EXPECT_EQ(start_process(program).error().text, "cannot start /bin/sh in /nowhere: No such file or directory");
}

TEST(ProcessTest, LeavesNoChildBehindWhenItCannotStart) {
  EXPECT_FALSE(start_process({.command = {"/nowhere/program"}}));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(ProcessTest, AnOrphanThatCannotStartIsAnErrorToo) {
  Program program{.command = {"/nowhere/program"}};
  program.standing = Standing::kOrphan;
  EXPECT_THAT(start_process(program).error().text, HasSubstr("/nowhere/program"));
}

// ---- before it runs ----

TEST(ProcessTest, DoesNotRunBeforeItsPidIsNoted) {
  char name[] = "/tmp/pounce_process_XXXXXX";
  const std::string folder = ::mkdtemp(name);
  Program program = shell("test -e noted");
  program.directory = folder;
  program.before_exec = [&folder](pid_t) {
    UniqueFd(::open((folder + "/noted").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    return Result<void>();
  };
  const auto pid = start_process(program);
  EXPECT_EQ(wait_for(pid.value_or(0)), 0);
  std::filesystem::remove_all(folder);
}

TEST(ProcessTest, DoesNotRunWhenItsPidCannotBeNoted) {
  Program program = shell("echo ran");
  program.before_exec = [](pid_t) -> Result<void> { return failure(ErrorCode::kInternal, "no room for the note"); };
  EXPECT_EQ(start_process(program).error().text, "no room for the note");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(ProcessTest, AChildThatDiesBeforeItRunsDoesNotTakeUsWithIt) {
  Program program = shell(":");
  program.before_exec = [](pid_t pid) {
    ::kill(pid, SIGKILL);
    siginfo_t ended;
    ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT);
    return Result<void>();
  };
  const auto pid = start_process(program);
  ASSERT_TRUE(pid);
  EXPECT_EQ(how_it_ended(wait_for(*pid)), "signal 9");
}

// ---- functions, ends ----

TEST(ProcessTest, AFunctionsResultIsTheExitCode) {
  const auto pid = start_function(Standing::kOwnGroup, 0, [] { return ::getpgrp() == ::getpid() ? 7 : 1; });
  ASSERT_TRUE(pid);
  EXPECT_EQ(how_it_ended(wait_for(*pid)), "exit code 7");
}

TEST(ProcessTest, AFunctionThatThrowsEndsItsProcessOnly) {
  const auto pid = start_function(Standing::kOurs, 0, []() -> int {
    ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);  // what terminate() prints
    throw 1;
  });
  ASSERT_TRUE(pid);
  EXPECT_EQ(how_it_ended(wait_for(*pid)), "signal 6");
}

TEST(ProcessTest, TellsARunningChildFromAnEndedOneAndFromNone) {
  const auto pid = start_process({.command = {"sleep", "1000"}});
  ASSERT_TRUE(pid);
  EXPECT_FALSE(ended_child(*pid));
  EXPECT_FALSE(ended_child(kAnyChild));
  EXPECT_EQ(how_it_ended(kill_and_wait(*pid)), "signal 9");
  EXPECT_EQ(ended_child(*pid)->pid, 0);
  EXPECT_FALSE(ended_child(kAnyChild));
}

TEST(ProcessTest, TakesOutputAndExitCodeAndErrorsWhereAsked) {
  const auto finished = output_of(shell("echo out; echo err >&2; exit 3"), /*with_errors=*/true);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->output, "out\nerr\n");
  EXPECT_EQ(how_it_ended(finished->wait_status), "exit code 3");
}

}  // namespace
}  // namespace pounce
