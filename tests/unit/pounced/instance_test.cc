// The instance's id and its folders.
#include "pounced/instance.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pounced/folders.h"
#include "pounced/journal.h"
#include "pounced/predecessors.h"
#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon {
namespace {

const Place kPlace{"pounce", "machine", "boot", 4026531840, 0, ""};

TEST(InstanceTest, IsTheSameForTheSamePlace) { EXPECT_EQ(instance_id(kPlace), instance_id(Place(kPlace))); }

// Pinned: a daemon of tomorrow must find the jobs of today's.
TEST(InstanceTest, KeepsItsIdAcrossVersions) { EXPECT_EQ(instance_id(kPlace).hex(), "44a272997b76"); }

TEST(InstanceTest, DiffersInEachPartOfThePlace) {
  Place other[6] = {kPlace, kPlace, kPlace, kPlace, kPlace, kPlace};
  other[0].cluster = "else";
  other[1].machine_id = "else";
  other[2].boot_id = "else";
  other[3].network_namespace = 1;
  other[4].outer_job = 1;
  other[5].state_folder = "/else";
  for (const Place& place : other) EXPECT_NE(instance_id(place), instance_id(kPlace));
}

TEST(InstanceTest, IsNotFooledByTextMovedFromOnePartToTheNext) {
  Place one = kPlace, two = kPlace;
  one.cluster = "ab", one.machine_id = "c";
  two.cluster = "a", two.machine_id = "bc";
  EXPECT_NE(instance_id(one), instance_id(two));
}

TEST(InstanceTest, HasAPredecessorOfAnEarlierBootOnly) {
  Place earlier = kPlace, elsewhere = kPlace;
  earlier.boot_id = "older";
  elsewhere.boot_id = "older";
  elsewhere.outer_job = 5;
  EXPECT_TRUE(is_predecessor(earlier, kPlace));
  EXPECT_FALSE(is_predecessor(kPlace, kPlace));
  EXPECT_FALSE(is_predecessor(elsewhere, kPlace));
}

TEST(FolderTest, IsThisUsersAlone) {
  const ScratchFolder scratch;
  const std::string path = scratch.file("a/b");
  ASSERT_TRUE(make_private_folder(path));
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0700u);
}

TEST(FolderTest, IsClosedWhenOthersCouldEnter) {
  const ScratchFolder scratch;
  const std::string path = scratch.file("open");
  ASSERT_EQ(::mkdir(path.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  ASSERT_TRUE(make_private_folder(path));
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0700u);
}

TEST(FolderTest, IsRefusedWhenItIsALinkOrAFile) {
  const ScratchFolder scratch;
  ASSERT_EQ(::symlink(scratch.path().c_str(), scratch.file("link").c_str()), 0);
  scratch.write("file", "");
  EXPECT_FALSE(make_private_folder(scratch.file("link")));
  EXPECT_FALSE(make_private_folder(scratch.file("file")));
}

TEST(FolderTest, IsRefusedWhenItBelongsToSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const ScratchFolder scratch;
  const std::string path = scratch.file("theirs");
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(make_private_folder(path));
}

class PredecessorTest : public testing::Test {
 protected:
  // The folder of a daemon that ran at `place` and left these lines in its journal.
  void leave(const Place& place, const std::vector<lease::JournalRecord>& records) {
    const Folders folders{scratch.file(instance_id(place).hex()), ""};
    ASSERT_TRUE(make_private_folder(folders.state));
    ASSERT_TRUE(write_place(folders, place));
    ASSERT_TRUE(Journal::open(folders.journal(), records));
  }
  std::vector<Predecessor> found() const {
    return take_over_predecessors({scratch.file(instance_id(kPlace).hex()), ""}, kPlace);
  }

  ScratchFolder scratch;
  Place before = [] {
    Place place = kPlace;
    place.boot_id = "older";
    return place;
  }();
  lease::JournalRecord intent = [] {
    lease::JournalRecord record;
    record.lease = *LeaseId::from_hex("0102030405060708");
    return record;
  }();
};

TEST_F(PredecessorTest, IsTakenOverWithItsOpenLeases) {
  leave(before, {intent});
  const auto predecessors = found();
  ASSERT_EQ(predecessors.size(), 1u);
  EXPECT_EQ(predecessors[0].instance, instance_id(before));
  EXPECT_EQ(predecessors[0].open, std::vector{intent});
}

TEST_F(PredecessorTest, IsRemovedWhenItLeftNothingOpen) {
  lease::JournalRecord ended = intent;
  ended.kind = lease::JournalRecord::Kind::kEnded;
  leave(before, {intent, ended});
  EXPECT_TRUE(found().empty());
  EXPECT_FALSE(std::filesystem::exists(scratch.file(instance_id(before).hex())));
}

TEST_F(PredecessorTest, IsNeverAnInstanceOfThisBoot) {
  Place neighbour = kPlace;
  neighbour.network_namespace = 7;
  leave(neighbour, {intent});
  leave(kPlace, {intent});
  EXPECT_TRUE(found().empty());
  EXPECT_TRUE(std::filesystem::exists(scratch.file(instance_id(neighbour).hex())));
}

}  // namespace
}  // namespace pounce::daemon
