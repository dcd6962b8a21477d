// This user's own leases as rows of accounting, as pouncectl reads them where Slurm has none.
#include "pouncectl/accounting.h"

#include <gtest/gtest.h>

namespace pounce::ctl {
namespace {

TEST(OwnAccountingTest, MakesAJobOfALeasesRecord) {
  const char* line =
      R"({"lease":"3f2a","job":7,"class":"lion","gpus":2,"cpus":4,"workers":2,"busy_ms":30000,"idle_ms":70000,"end_s":1100})";
  const auto job = job_of(line, "alice");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->user, "alice");
  EXPECT_EQ(job->class_name, "lion");
  EXPECT_EQ(job->mode, kOffload);
  EXPECT_EQ(job->start_s, 1000);
  EXPECT_EQ(job->end_s, 1100);
  EXPECT_EQ(job->gpus, 4u);
  EXPECT_EQ(job->cpus, 8u);
  EXPECT_EQ(job->busy_s, 30);
  EXPECT_EQ(job->idle_s, 70);
}

TEST(OwnAccountingTest, CallsALeaseThatANotebookHeldAReservation) {
  EXPECT_EQ(job_of(R"({"gpus":2,"busy_ms":30000,"idle_ms":70000,"held":true,"end_s":1100})", "alice")->mode,
            kReservation);
}

TEST(OwnAccountingTest, LeavesOutWhatHeldNothingAndWhatIsNoRecord) {
  EXPECT_FALSE(job_of(R"({"gpus":2,"busy_ms":0,"idle_ms":0,"end_s":1100})", "alice"));
  EXPECT_FALSE(job_of("{\"class\":\"li", "alice"));  // a full disk cut it
}

}  // namespace
}  // namespace pounce::ctl
