// What a failed start leaves for those who waited for it.
#include <gtest/gtest.h>

#include "pounced/startup/spawn.h"
#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon {
namespace {

class StartFailureTest : public testing::Test {
 protected:
  static LockOwner another(LockOwner owner) {
    ++owner.start_ticks;
    return owner;
  }

  ScratchFolder folder;
  const Folders folders{folder.path(), folder.path()};
};

TEST_F(StartFailureTest, IsToldToThoseWhoWaitedForThatStarter) {
  leave_start_failure(folders, this_process(), "why");

  EXPECT_EQ(start_failure_of(folders, this_process()), "why");
}

TEST_F(StartFailureTest, IsNotToldOfAnotherStarterWithTheSameNumber) {
  leave_start_failure(folders, this_process(), "why");

  EXPECT_FALSE(start_failure_of(folders, another(this_process())));
}

TEST_F(StartFailureTest, IsNothingWhereNoStartFailed) { EXPECT_FALSE(start_failure_of(folders, this_process())); }

}  // namespace
}  // namespace pounce::daemon
