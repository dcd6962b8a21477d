// The folders of daemons that were gone for good stayed for ever: over a hundred after a day.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pounced/startup/instance.h"
#include "pounced/startup/start_lock.h"
#include "pounced/storage/journal.h"
#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using lease::JournalRecord;

constexpr auto kDayAndMore = 25h;

class GoneFoldersTest : public testing::Test {
 protected:
  GoneFoldersTest() {
    here = {"cluster", "this machine", boot_id(), 1, 0, ""};
    ours = make(here);
    dead = this_process();
    dead.boot = "an earlier boot";
  }

  // The folder that a daemon at that place would have.
  Folders make(const InstanceScope& scope) const {
    const std::string name = instance_id(scope).hex();
    const Folders folders{scratch.path() + "/" + name, scratch.path() + "/run/" + name};
    fs::create_directories(folders.leases());
    fs::create_directories(folders.runtime);
    EXPECT_TRUE(write_scope(folders, scope));
    return folders;
  }

  // That of a notebook job on this machine, whose daemon has died.
  Folders of_a_job(std::uint32_t job) const {
    InstanceScope scope = here;
    scope.outer_job = job;
    const Folders folders = make(scope);
    EXPECT_TRUE(StartLock::take(folders.lock(), dead));
    std::ofstream(folders.log()) << "ended\n";
    return folders;
  }

  static void let_it_be_quiet(const Folders& folders) {
    const auto then = fs::file_time_type::clock::now() - kDayAndMore;
    for (const auto& entry : fs::directory_iterator(folders.state)) fs::last_write_time(entry.path(), then);
    fs::last_write_time(folders.state, then);
  }

  static JournalRecord record(JournalRecord::Kind kind, int lease) {
    JournalRecord one;
    one.kind = kind;
    one.lease = LeaseId({static_cast<std::uint8_t>(lease)});
    return one;
  }

  void tidy() const {
    GoneFolders gone(ours, here);
    while (gone.step()) {
    }
  }

  ScratchFolder scratch;
  InstanceScope here;
  Folders ours;
  LockOwner dead;
};

TEST_F(GoneFoldersTest, OneOfADaemonThatIsGoneIsRemovedWithItsSockets) {
  const Folders gone = of_a_job(4711);
  let_it_be_quiet(gone);

  tidy();

  EXPECT_FALSE(fs::exists(gone.state));
  EXPECT_FALSE(fs::exists(gone.runtime));
  EXPECT_TRUE(fs::exists(ours.state));
}

TEST_F(GoneFoldersTest, WhatItsLeasesUsedIsKept) {
  const Folders gone = of_a_job(4711), another = of_a_job(4712);
  std::ofstream(gone.usage() + ".1") << "older\n";
  std::ofstream(gone.usage()) << "newer\n";
  std::ofstream(another.usage()) << "another\n";
  let_it_be_quiet(gone);
  tidy();
  let_it_be_quiet(another);
  tidy();

  EXPECT_EQ(content_of(ours.usage_of_gone()), "older\nnewer\nanother\n");
}

TEST_F(GoneFoldersTest, OneWithAnOpenLeaseStays) {
  const Folders gone = of_a_job(4711);
  ASSERT_TRUE(Journal::open(gone.journal(), {record(JournalRecord::Kind::kIntent, 1)}));
  let_it_be_quiet(gone);

  tidy();

  EXPECT_TRUE(fs::exists(gone.journal()));
}

TEST_F(GoneFoldersTest, OneWhoseJournalCannotBeReadStays) {
  const Folders gone = of_a_job(4711);
  std::ofstream(gone.journal()) << "damage";
  let_it_be_quiet(gone);

  tidy();

  EXPECT_TRUE(fs::exists(gone.journal()));
}

TEST_F(GoneFoldersTest, OneWhoseLastLeaseHasEndedGoes) {
  const Folders gone = of_a_job(4711);
  ASSERT_TRUE(
      Journal::open(gone.journal(), {record(JournalRecord::Kind::kIntent, 1), record(JournalRecord::Kind::kEnded, 1)}));
  let_it_be_quiet(gone);

  tidy();

  EXPECT_FALSE(fs::exists(gone.state));
}

TEST_F(GoneFoldersTest, OneWhoseDaemonRunsStays) {
  InstanceScope scope = here;
  scope.outer_job = 4711;
  const Folders other = make(scope);
  ASSERT_TRUE(StartLock::take(other.lock(), this_process()));
  let_it_be_quiet(other);

  tidy();

  EXPECT_TRUE(fs::exists(other.state));
}

TEST_F(GoneFoldersTest, OneOfAnotherContainerStaysWhereItsProcessesCannotBeSeen) {
  InstanceScope scope = here;
  scope.network_namespace = 2;
  const Folders other = make(scope);
  LockOwner unseen = this_process();
  ++unseen.pid_namespace;
  ASSERT_TRUE(StartLock::take(other.lock(), unseen));
  let_it_be_quiet(other);

  tidy();

  EXPECT_TRUE(fs::exists(other.state));
}

TEST_F(GoneFoldersTest, OneOfAnotherMachineOnTheSameHomeStaysAndIsCounted) {
  InstanceScope scope = here;
  scope.machine_id = "another machine", scope.boot_id = "its boot";
  const Folders other = make(scope);
  ASSERT_TRUE(StartLock::take(other.lock(), dead));
  EXPECT_EQ(look_at_others(ours, here).at(instance_id(scope).hex()), FolderState::kMayRun);
  let_it_be_quiet(other);

  tidy();

  EXPECT_EQ(look_at_others(ours, here).at(instance_id(scope).hex()), FolderState::kElsewhere);
}

TEST_F(GoneFoldersTest, LogsCanBeReadForADay) {
  const Folders gone = of_a_job(4711);
  let_it_be_quiet(gone);
  std::ofstream(gone.log(), std::ios::app) << "one line more\n";

  tidy();

  EXPECT_TRUE(fs::exists(gone.log()));
}

TEST_F(GoneFoldersTest, FoldersOfAllInstancesAreNoneOfThese) {
  fs::create_directories(ours.results() + "/a-task");
  fs::last_write_time(ours.results(), fs::file_time_type::clock::now() - kDayAndMore);

  tidy();

  EXPECT_TRUE(fs::exists(ours.results() + "/a-task"));
  EXPECT_TRUE(look_at_others(ours, here).empty());
}

TEST_F(GoneFoldersTest, ARemovalThatWasCutShortIsFinished) {
  fs::create_directories(scratch.file(".gone-0123456789ab/leases"));

  tidy();

  EXPECT_FALSE(fs::exists(scratch.file(".gone-0123456789ab")));
}

TEST_F(GoneFoldersTest, ADaemonThatLivesIsNeverQuiet) {
  auto lock = StartLock::take(ours.lock());
  ASSERT_TRUE(lock && *lock);
  let_it_be_quiet(ours);

  (*lock)->show_life(ours.lock());

  const auto shown = fs::last_write_time(ours.lock() + "." + std::to_string((*lock)->number()));
  EXPECT_LT(fs::file_time_type::clock::now() - shown, 1h);
}

// ---- the boot before ------------------------------------------------------------------------------------------------

class EarlierBootTest : public GoneFoldersTest {
 protected:
  EarlierBootTest() {
    InstanceScope scope = here;
    scope.boot_id = "an earlier boot";
    earlier = make(scope);
    EXPECT_TRUE(StartLock::take(earlier.lock(), dead));
    EXPECT_TRUE(Journal::open(earlier.journal(), {record(JournalRecord::Kind::kIntent, 1)}));
  }

  Folders earlier;
};

TEST_F(EarlierBootTest, ItsOpenLeasesAreTakenOver) {
  const auto found = take_over_previous_instances(ours, here, {});

  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].open.size(), 1u);
}

// They ended in our journal only, and were taken over again at each start.
TEST_F(EarlierBootTest, OnceWeHaveSeenItsLeasesEndItGoes) {
  const auto found = take_over_previous_instances(ours, here, {record(JournalRecord::Kind::kEnded, 1)});
  EXPECT_TRUE(found.empty());
  let_it_be_quiet(earlier);

  tidy();

  EXPECT_FALSE(fs::exists(earlier.state));
}

}  // namespace
}  // namespace pounce::daemon
