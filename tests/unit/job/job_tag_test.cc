// The tag of a job, and the note that follows it in the comment.
#include "job/job_tag.h"

#include <gtest/gtest.h>

namespace pounce::job {
namespace {

using namespace std::chrono_literals;

const InstanceId kInstance = *InstanceId::from_hex("466d2258eaa0");
const LeaseId kLease = *LeaseId::from_hex("3f2a91bc00000001");

TEST(JobNoteTest, IsATagStillAndTellsThePartThatWasBusy) {
  const std::string note = format_job_note({kInstance, kLease}, false, 90s, 30s);
  ASSERT_TRUE(parse_job_tag(note).has_value());
  EXPECT_EQ(parse_job_tag(note)->lease, kLease);
  EXPECT_EQ(noted_times(note, 120s).value().busy, 90s);
  EXPECT_FALSE(noted_times(format_job_tag({kInstance, kLease}), 120s));
  EXPECT_FALSE(noted_times("another's busy=3s idle=1s", 120s));
}

TEST(JobNoteTest, TellsOfAHoldFromItsBeginningOn) {
  const JobTag tag{kInstance, kLease};
  EXPECT_EQ(parse_job_tag(format_hold_note(tag)), tag);
  EXPECT_TRUE(tells_hold(format_hold_note(tag)));
  EXPECT_TRUE(tells_hold(format_job_note(tag, true, 90s, 30s)));
  EXPECT_EQ(noted_times(format_job_note(tag, true, 90s, 30s), 120s).value().idle, 30s);
  EXPECT_FALSE(noted_times(format_hold_note(tag), 120s));
  EXPECT_FALSE(tells_hold(format_job_tag(tag)));
  EXPECT_FALSE(tells_hold(format_job_note(tag, false, 90s, 30s)));
  EXPECT_FALSE(tells_hold(format_job_tag(tag) + " heldout"));
  EXPECT_FALSE(tells_hold("another's held"));
}

// A user can write into the comments of their own jobs.
TEST(JobNoteTest, TellsOfNoMoreTimeThanTheJobRan) {
  const std::string tag = format_job_tag({kInstance, kLease});
  EXPECT_TRUE(noted_times(tag + " busy=90s idle=30s", 100s));  // the ends are rounded
  EXPECT_FALSE(noted_times(tag + " busy=161s idle=0s", 100s));
  EXPECT_FALSE(noted_times(tag + " busy=100s idle=100s", 100s));
  EXPECT_FALSE(noted_times(tag + " busy=1s idle=18446744073709551615s", 100s));
  EXPECT_FALSE(noted_times(tag + " busy=1s idle=-1s", 100s));
  EXPECT_FALSE(noted_times(tag + " busy=99999999999999999999s idle=1s", 100s));
  EXPECT_FALSE(noted_times(tag + " busy=0s idle=0s", 100s));
}

}  // namespace
}  // namespace pounce::job
