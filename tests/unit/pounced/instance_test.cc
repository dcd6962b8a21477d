// The instance's id and its folders.
#include "pounced/startup/instance.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pounced/startup/folders.h"
#include "pounced/storage/journal.h"
#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon {
namespace {

const InstanceScope kScope{"pounce", "machine", "boot", 4026531840, 0, ""};

TEST(InstanceTest, IsTheSameForTheSamePlace) { EXPECT_EQ(instance_id(kScope), instance_id(InstanceScope(kScope))); }

// Pinned: a daemon of tomorrow must find the jobs of today's.
TEST(InstanceTest, KeepsItsIdAcrossVersions) { EXPECT_EQ(instance_id(kScope).hex(), "44a272997b76"); }

TEST(InstanceTest, DiffersInEachPartOfThePlace) {
  InstanceScope other[6] = {kScope, kScope, kScope, kScope, kScope, kScope};
  other[0].cluster = "else";
  other[1].machine_id = "else";
  other[2].boot_id = "else";
  other[3].network_namespace = 1;
  other[4].outer_job = 1;
  other[5].state_folder = "/else";
  for (const InstanceScope& scope : other) EXPECT_NE(instance_id(scope), instance_id(kScope));
}

TEST(InstanceTest, IsNotFooledByTextMovedFromOnePartToTheNext) {
  InstanceScope one = kScope, two = kScope;
  one.cluster = "ab", one.machine_id = "c";
  two.cluster = "a", two.machine_id = "bc";
  EXPECT_NE(instance_id(one), instance_id(two));
}

TEST(InstanceTest, HasAPreviousInstanceOfAnEarlierBootOnly) {
  InstanceScope earlier = kScope, elsewhere = kScope;
  earlier.boot_id = "older";
  elsewhere.boot_id = "older";
  elsewhere.outer_job = 5;
  EXPECT_TRUE(is_previous_instance(earlier, kScope));
  EXPECT_FALSE(is_previous_instance(kScope, kScope));
  EXPECT_FALSE(is_previous_instance(elsewhere, kScope));
}

TEST(FolderTest, IsThisUsersAlone) {
  const ScratchFolder scratch;
  const std::string path = scratch.file("a/b");
  ASSERT_TRUE(make_private_folder(path));
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0700u);
}

TEST(FolderTest, IsClosedWhenOthersCouldEnter) {
  const ScratchFolder scratch;
  const std::string path = scratch.file("open");
  ASSERT_EQ(::mkdir(path.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  ASSERT_TRUE(make_private_folder(path));
  struct stat facts{};
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

TEST(FolderTest, IsRefusedBelowAFolderThatOthersMayWriteOrOwn) {
  const ScratchFolder scratch;
  const std::string parent = scratch.file("premade");
  ASSERT_EQ(::mkdir(parent.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(parent.c_str(), 0777), 0);
  const auto open = make_private_folder(parent + "/instance");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().text, parent + " can be written by others");
  EXPECT_EQ(open.error().remedy, "Take that right from them: chmod go-w " + parent + ", or name another state_folder.");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chmod(parent.c_str(), 0700), 0);
  ASSERT_EQ(::chown(parent.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(make_private_folder(parent + "/instance"));
}

class PreviousInstanceTest : public testing::Test {
 protected:
  // The folder of a daemon that ran at `place` and left these lines in its journal.
  void leave(const InstanceScope& scope, const std::vector<lease::JournalRecord>& records) {
    const Folders folders{scratch.file(instance_id(scope).hex()), ""};
    ASSERT_TRUE(make_private_folder(folders.state));
    ASSERT_TRUE(write_scope(folders, scope));
    ASSERT_TRUE(Journal::open(folders.journal(), records));
  }
  std::vector<PreviousInstance> found() const {
    return take_over_previous_instances({scratch.file(instance_id(kScope).hex()), ""}, kScope, {});
  }

  ScratchFolder scratch;
  InstanceScope before = [] {
    InstanceScope scope = kScope;
    scope.boot_id = "older";
    return scope;
  }();
  lease::JournalRecord intent = [] {
    lease::JournalRecord record;
    record.lease = *LeaseId::from_hex("0102030405060708");
    return record;
  }();
};

TEST_F(PreviousInstanceTest, IsTakenOverWithItsOpenLeases) {
  leave(before, {intent});
  const auto previous_instances = found();
  ASSERT_EQ(previous_instances.size(), 1u);
  EXPECT_EQ(previous_instances[0].instance, instance_id(before));
  EXPECT_EQ(previous_instances[0].open, std::vector{intent});
}

TEST_F(PreviousInstanceTest, IsNeverAnInstanceOfThisBoot) {
  InstanceScope neighbour = kScope;
  neighbour.network_namespace = 7;
  leave(neighbour, {intent});
  leave(kScope, {intent});
  EXPECT_TRUE(found().empty());
  EXPECT_TRUE(std::filesystem::exists(scratch.file(instance_id(neighbour).hex())));
}

}  // namespace
}  // namespace pounce::daemon
