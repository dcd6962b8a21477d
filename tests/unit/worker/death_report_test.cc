#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ids.h"
#include "messages/sentence.h"
#include "worker/supervisor/interpreter.h"

namespace pounce::worker {
namespace {

using testing::HasSubstr;

int exited(int code) { return code << 8; }  // as wait(2) encodes them on Linux
int killed(int signal) { return signal; }

TEST(DeathReportTest, TellsAnExitCode) {
  const Error error = death_report({.wait_status = exited(3), .node = "g1"});
  EXPECT_EQ(error.code, ErrorCode::kWorkerCrashed);
  EXPECT_EQ(messages::text(error), "the worker on g1 ended itself with exit code 3");
  EXPECT_EQ(error.exit_code, 3);
  EXPECT_EQ(error.signal, std::nullopt);
  EXPECT_EQ(error.context.at("exit_code"), "3");
  EXPECT_FALSE(error.context.contains("signal"));
}

TEST(DeathReportTest, OfOneThatWasEndedForItsGpusTellsThat) {
  const Error failed{ErrorCode::kDeviceFailed, "the GPU GPU-a failed", "Submit again.", {{"xid", "79"}}};
  const Error error =
      death_report({.wait_status = killed(9), .node = "g1", .killed_for_memory = true, .unfit = failed});
  EXPECT_EQ(error.code, ErrorCode::kDeviceFailed);
  EXPECT_EQ(messages::text(error), "the GPU GPU-a failed");
  EXPECT_EQ(error.context.at("xid"), "79");
  EXPECT_EQ(error.context.at("node"), "g1");
}

TEST(DeathReportTest, TellsASignalByNumberAndName) {
  const Error error = death_report({.wait_status = killed(11), .node = "g1", .last_lines = "Fatal Python error"});
  EXPECT_EQ(error.code, ErrorCode::kWorkerCrashed);
  EXPECT_EQ(messages::text(error), "the worker on g1 died of SIGSEGV (Segmentation fault)");
  EXPECT_EQ(error.signal, 11);
  EXPECT_EQ(error.context.at("signal"), "11");
  EXPECT_EQ(error.context.at("signal_name"), "SIGSEGV");
  EXPECT_EQ(error.context.at("last_lines"), "Fatal Python error");
}

TEST(DeathReportTest, TellsOutOfMemoryWithTheLimit) {
  const Error error = death_report(
      {.wait_status = killed(9), .node = "g1", .killed_for_memory = true, .memory_limit = std::uint64_t{200} << 20});
  EXPECT_EQ(error.code, ErrorCode::kOutOfMemory);
  EXPECT_THAT(messages::text(error), HasSubstr("(200 MiB)"));
  EXPECT_EQ(error.context.at("memory_limit_mib"), "200");
}

TEST(DeathReportTest, TellsTheEndOfATaskThatDidNotStopAsACancelAndNotAsACrash) {
  const Error error = death_report({.wait_status = killed(9), .node = "g1", .gave_up = true});
  EXPECT_EQ(error.code, ErrorCode::kCancelled);
  EXPECT_THAT(messages::text(error), HasSubstr("its worker on g1 was killed"));
}

TEST(DeathReportTest, TellsAnInterpreterThatNeverStartedByItsCommand) {
  const Error error =
      death_report({.wait_status = exited(127), .node = "g1", .was_ready = false, .command = "/no/python -m x"});
  EXPECT_EQ(messages::text(error), "the worker's interpreter on g1 did not start: /no/python -m x");
}

TEST(DeathReportTest, NamesTheTaskThatRan) {
  EXPECT_EQ(death_report({.running = id_of<TaskId>(2)}).context.at("running"), id_of<TaskId>(2).hex());
}

TEST(EndedInterpreterTest, WhereNothingIsKnownAnyTaskMayHaveStarted) {
  const auto one = id_of<TaskId>(1), two = id_of<TaskId>(2);
  EXPECT_TRUE(EndedInterpreter{}.may_have_started(one));
  EXPECT_TRUE((EndedInterpreter{.started = std::vector{one}}.may_have_started(one)));
  EXPECT_FALSE((EndedInterpreter{.started = std::vector{one}}.may_have_started(two)));
}

TEST(TailTest, KeepsTheLastLines) {
  EXPECT_EQ(tail_of("a\nb\nc\n", 2), "b\nc");
  EXPECT_EQ(tail_of("a\nb\nc", 2), "b\nc");
  EXPECT_EQ(tail_of(""), "");
}

TEST(TailTest, KeepsNoMoreThanItsBytes) {
  EXPECT_EQ(tail_of("first\n" + std::string(50, 'x') + "\nlast", 20, 20), "last");
  EXPECT_EQ(tail_of(std::string(50, 'x'), 20, 20), std::string(20, 'x'));
}

TEST(TailTest, LeavesOutWhatTheSupervisorLogged) {
  EXPECT_EQ(tail_of("hello\n2026-11-21T06:38:47.761 warning pounce-worker lease=00 epoch=0 died\n2026 was a year\n"),
            "hello\n2026 was a year");
}

}  // namespace
}  // namespace pounce::worker
