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
  EXPECT_EQ(error.context.at("exit_code"), "3");
  EXPECT_FALSE(error.context.contains("signal"));
}

TEST(DeathReportTest, OfOneThatWasEndedForItsGpusTellsThat) {
  const Error failed{ErrorCode::kDeviceFailed, "the GPU GPU-a failed", "Submit again.", {{"xid", "79"}}};
  const Error error = death_report({.wait_status = killed(9),
                                    .node = "g1",
                                    .killed_for_memory = true,
                                    .started = std::vector<TaskId>{},
                                    .unfit = failed});
  EXPECT_EQ(error.code, ErrorCode::kDeviceFailed);
  EXPECT_EQ(messages::text(error), "the GPU GPU-a failed");
  EXPECT_EQ(error.context.at("xid"), "79");
  EXPECT_EQ(error.context.at("node"), "g1");
  EXPECT_EQ(error.context.at("started"), "");
}

TEST(DeathReportTest, TellsASignalByNumberAndName) {
  const Error error = death_report({.wait_status = killed(11), .node = "g1", .last_lines = "Fatal Python error"});
  EXPECT_EQ(error.code, ErrorCode::kWorkerCrashed);
  EXPECT_EQ(messages::text(error), "the worker on g1 died of SIGSEGV (Segmentation fault)");
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

TEST(DeathReportTest, NamesTheInterpreterByItsKey) {
  EXPECT_EQ(death_report({.key = "Z85"}).context.at("key"), "Z85");
  EXPECT_FALSE(death_report({}).context.contains("key")) << "it was never ready";
}

TEST(DeathReportTest, NamesTheTasksThatMayHaveRun) {
  const auto one = id_of<TaskId>(1), two = id_of<TaskId>(2);
  const Error error = death_report({.running = two, .started = std::vector{one, two}});
  EXPECT_EQ(error.context.at("running"), two.hex());
  EXPECT_EQ(error.context.at("started"), one.hex() + "," + two.hex());
}

TEST(DeathReportTest, DoesNotClaimToKnowTheStartedTasksWhenItDoesNot) {
  EXPECT_FALSE(death_report({}).context.contains("started"));
  EXPECT_EQ(death_report({.started = std::vector<TaskId>{}}).context.at("started"), "");
}

TEST(DepartureReportTest, IsTheOrderToLeaveWithWhatWasStarted) {
  const auto one = id_of<TaskId>(1);
  const Error error = departure_report({CauseCode::kIdle}, std::vector{one}, "key");
  EXPECT_EQ(error.code, ErrorCode::kLeaseEnded);
  EXPECT_EQ(error.cause.code, CauseCode::kIdle);
  EXPECT_EQ(error.context.at("started"), one.hex());
  EXPECT_EQ(error.context.at("key"), "key");
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
