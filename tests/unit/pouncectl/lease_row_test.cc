// What a user reads of a lease, and which leases a user means.
#include "pouncectl/lease_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pouncectl/output.h"

namespace pounce::ctl {
namespace {

using ::testing::HasSubstr;

LeaseRow row(std::string id, std::string session = {}) {
  LeaseRow one;
  one.lease = std::move(id);
  one.session = std::move(session);
  return one;
}

const std::vector<LeaseRow> kRows = {row("3f2a000000000001", "aa01"), row("3f2b000000000002", "aa02"),
                                     row("9000000000000003", "bb01")};

TEST(LeaseRowTest, ReadsALeaseWithItsNotebook) {
  const auto rows = lease_rows(R"({"sessions":[{"session":"77","pid":12,"directory":"/home/alice"}],
      "leases":[{"lease":"3f2a","state":"queued","class":"cheetah","gpus":1,"session":"77","waiting":2,"age_s":61.5}]})");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(notebook_of(rows[0]), "/home/alice (pid 12)");
  EXPECT_EQ(tasks_of(rows[0]), "2 wait");
  EXPECT_EQ(in_words(rows[0].age_s), "1 min");
}

TEST(LeaseRowTest, HasNoRowsForWhatIsNoStatusDocument) { EXPECT_TRUE(lease_rows("none").empty()); }

TEST(LeaseRowTest, TellsTimesInTheirTwoLargestUnits) {
  EXPECT_EQ(in_words(0.4), "0 s");
  EXPECT_EQ(in_words(59.9), "59 s");
  EXPECT_EQ(in_words(3599), "59 min");
  EXPECT_EQ(in_words(7500), "2 h 5 min");
  EXPECT_EQ(in_words(7200), "2 h");
  EXPECT_EQ(in_words(86400 * 3 + 3600 * 4), "3 d 4 h");
}

TEST(LeaseRowTest, TellsWhatProgramsReportedAndTheRunThatTheyLogInto) {
  const auto rows = lease_rows(R"({"leases":[{"lease":"3f2a","reported":{"status":"epoch 3",
      "numbers":{"loss":"0.3","step":"7"},"mlflow_run":"6b0c"}},{"lease":"9000"}]})");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(reported_of(rows[0]), "epoch 3; loss=0.3 step=7; MLflow run 6b0c");
  EXPECT_EQ(reported_of(rows[1]), "");
}

TEST(LeaseRowTest, ReadsWhatAQueuedLeaseWaitsFor) {
  const auto rows = lease_rows(R"({"leases":[
      {"lease":"3f2a","state":"queued","class":"lion","slurm_reason":"QOSMaxJobsPerUserLimit","ahead":3,
       "start_estimate_s":1600,"limit":{"what":"job","most":4,"used":4,"asked":1}},
      {"lease":"9000","state":"busy","start_s":900}]})");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].resources.class_name, "lion");
  EXPECT_EQ(rows[0].wait.limit, (LimitUse{"job", 4, 4, 1}));
  EXPECT_EQ(rows[0].wait.ahead, 3);
  EXPECT_EQ(starts(rows[0], 1000), "in about 10 min");
  EXPECT_EQ(starts(rows[1], 1000), "");
}

TEST(LeaseRowTest, TellsAnEstimateAsCoarselyAsItIs) {
  LeaseRow row;
  row.wait.start_estimate_s = 10'000;
  EXPECT_EQ(starts(row, 10'050), "any moment");
  EXPECT_EQ(starts(row, 10'000 - 130), "in about 2 min");
  EXPECT_EQ(starts(row, 10'000 - 33 * 60), "in about 35 min");
  EXPECT_EQ(starts(row, 10'000 - 100 * 60), "in about 1 h 30 min");
  row.wait.eta = {10'000, 9'000, 13'600};
  EXPECT_EQ(starts(row, 9'400), "in about 10 min (now to 1 h)");
  EXPECT_EQ(starts(row, 13'590), "any moment");
}

TEST(LeaseRowTest, SaysWhatWasAskedFor) {
  Resources asked;
  EXPECT_EQ(asks(asked), "CPU only");
  asked.gpus = 2;
  asked.gpu_type = "a100";
  asked.cpus = 4;
  asked.time = std::chrono::minutes(90);
  EXPECT_EQ(asks(asked), "2 GPUs a100, 4 CPUs, 1 h 30 min");
}

TEST(LeaseRowTest, SaysThatNobodyClaimsALeaseAndThatItGoesBack) {
  LeaseRow one = row("3f2a");
  one.reason = "ready";
  one.release_asked = true;
  EXPECT_EQ(why(one), "ready; no notebook claims it; goes back when idle");
}

TEST(NamedTest, ABeginningIsEnoughWhereItFitsOneLease) {
  const auto found = named(kRows, {"9", "3f2a"});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[1].lease, "3f2a000000000001");
}

TEST(NamedTest, TheSameLeaseTwiceIsOnce) { EXPECT_EQ(named(kRows, {"9", "90"})->size(), 1u); }

TEST(NamedTest, ABeginningOfSeveralIsRefusedWithThoseItFits) {
  const auto found = named(kRows, {"3f"});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kBadRequest);
  EXPECT_EQ(found.error().remedy, "There are: 3f2a0000, 3f2b0000.");
}

TEST(NamedTest, AnUnknownOneIsRefusedWithThoseThereAre) {
  const auto found = named(kRows, {"ab"});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().text, HasSubstr("ab"));
  EXPECT_EQ(found.error().remedy, "There are: 3f2a0000, 3f2b0000, 90000000.");
  EXPECT_EQ(named({}, {"ab"}).error().remedy, "There is none.");
}

TEST(OfSessionTest, FindsItsLeasesAndNoOthers) {
  EXPECT_EQ(of_session(kRows, "bb")->front().lease, "9000000000000003");
  EXPECT_THAT(of_session(kRows, "aa").error().text, HasSubstr("several sessions"));
  EXPECT_THAT(of_session(kRows, "cc").error().remedy, HasSubstr("bb01"));
}

TEST(ColumnsTest, AreAsWideAsTheirWidestCellAndAnEmptyOneIsLeftOut) {
  EXPECT_EQ(columns({{"A", "NEVER", "C"}, {"long", "", ""}, {"b", "", "c"}}),
            "A     C\n"
            "long  -\n"
            "b     c\n");
}

TEST(ReleaseWordsTest, ABusyLeaseGoesBackWhenIdleAndTheFasterWayIsTold) {
  const protocol::ReleaseRow after{{}, "busy", 0, 1};
  EXPECT_EQ(release_words(kRows[0], after, protocol::ReleaseHow::kWhenIdle),
            "goes back as soon as it is idle; tasks: 1 runs (at once, ending them: pouncectl release --now 3f2a0000)");
}

TEST(ReleaseWordsTest, AnOrderSaysThatTasksEnd) {
  LeaseRow before = row("3f2a");
  before.job = 41;
  before.running = 1;
  EXPECT_EQ(release_words(before, {{}, "draining", 0, 1}, protocol::ReleaseHow::kNow),
            "its worker ends, and job 41 with it; its tasks end");
  EXPECT_EQ(release_words(before, {{}, "ending", 0, 0}, protocol::ReleaseHow::kCancel),
            "job 41 is cancelled; its tasks end");
}

TEST(ReleaseWordsTest, ALeaseWithoutAJobIsWithdrawn) {
  EXPECT_EQ(release_words(row("3f2a"), {{}, "ended", 0, 0}, protocol::ReleaseHow::kCancel),
            "withdrawn: no job was asked for");
}

}  // namespace
}  // namespace pounce::ctl
