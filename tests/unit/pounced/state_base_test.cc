// Where state goes when the home cannot take it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pounced/startup/folders.h"
#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kNowhere[] = "/proc/no-home/.local/state/pounce";  // nobody can write there, root included

bool nobody_lives(const std::string&) { return false; }

class StateBaseTest : public testing::Test {
 protected:
  ScratchFolder home, disk;
};

TEST_F(StateBaseTest, IsTheUsualOneWhereItCanBeWritten) {
  const StateBase base = choose_state_base(home.file("a/b"), disk.path(), nobody_lives);
  EXPECT_EQ(base.path, home.file("a/b"));
  EXPECT_FALSE(base.fallen_back());
}

TEST_F(StateBaseTest, IsTheOtherOneWithTheReasonWhereItCannot) {
  const StateBase base = choose_state_base(kNowhere, disk.file("pounce"), nobody_lives);
  EXPECT_EQ(base.path, disk.file("pounce"));
  EXPECT_THAT(base.trouble, HasSubstr("/proc cannot be written"));
}

TEST_F(StateBaseTest, IsTheUsualOneWhereBothCannotSoThatItsTroubleIsTold) {
  EXPECT_EQ(choose_state_base(kNowhere, "/proc/neither", nobody_lives).path, kNowhere);
}

TEST_F(StateBaseTest, IsTheOtherOneWhereOthersMayWriteTheUsualOne) {
  std::filesystem::permissions(home.path(), std::filesystem::perms::all);
  const StateBase base = choose_state_base(home.file("a"), disk.path(), nobody_lives);
  EXPECT_EQ(base.path, disk.path());
  EXPECT_EQ(base.trouble, home.path() + " can be written by others");
}

TEST_F(StateBaseTest, StaysWhereAPouncedLives) {
  const auto lives_in = [](const std::string& there) {
    return [there](const std::string& base) { return base == there; };
  };
  EXPECT_EQ(choose_state_base(kNowhere, disk.path(), lives_in(kNowhere)).path, kNowhere);
  const StateBase fallen_back = choose_state_base(home.path(), disk.path(), lives_in(disk.path()));
  EXPECT_EQ(fallen_back.path, disk.path());
  EXPECT_TRUE(fallen_back.fallen_back()) << "the user is told until that pounced has ended";
}

TEST_F(StateBaseTest, ProbingLeavesNothingBehind) {
  EXPECT_THAT(why_not_usable(disk.file("a/b/c")), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(disk.path()));
}

}  // namespace
}  // namespace pounce::daemon
