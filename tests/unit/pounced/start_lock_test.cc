// One daemon per instance, on any file system.
#include "pounced/startup/start_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "launch/detached_process.h"
#include "pounced/startup/instance.h"
#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon {
namespace {

class StartLockTest : public testing::Test {
 protected:
  // A process that has ended and was waited for.
  LockOwner dead() const {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    LockOwner owner = this_process();
    owner.pid = child;
    return owner;
  }

  static LockOwner owner_of(pid_t child) {
    LockOwner owner = this_process();
    owner.pid = child;
    owner.start_ticks = launch::start_ticks(child).value_or(0);
    return owner;
  }

  bool take(const LockOwner& owner = this_process()) {
    const auto taken = StartLock::take(base, owner);
    EXPECT_TRUE(taken) << taken.error().text;
    return taken && taken->has_value();
  }

  ScratchFolder folder;
  const std::string base = folder.file("lock");
};

TEST_F(StartLockTest, IsFreeAtFirst) {
  EXPECT_FALSE(StartLock::holder(base));
  EXPECT_TRUE(take());
  EXPECT_EQ(StartLock::holder(base), this_process());
}

TEST_F(StartLockTest, IsNotGivenTwiceWhileItsOwnerRuns) {
  ASSERT_TRUE(take());
  EXPECT_FALSE(take());
}

TEST_F(StartLockTest, IsFreeAgainWhenItsOwnerDied) {
  ASSERT_TRUE(take(dead()));
  EXPECT_FALSE(StartLock::holder(base));
  EXPECT_TRUE(take());
}

TEST_F(StartLockTest, IsFreeAgainWhenItsOwnerDiedAndNobodyWaitedForIt) {
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte;
    ::close(go[1]);
    ::_exit(::read(go[0], &byte, 1) == 0 ? 0 : 1);
  }
  ASSERT_TRUE(take(owner_of(child)));
  EXPECT_TRUE(StartLock::holder(base)) << "it runs";
  ::close(go[1]);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, child, &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(StartLock::holder(base));
  EXPECT_TRUE(take());
  ::close(go[0]);
  ::waitpid(child, nullptr, 0);
}

TEST_F(StartLockTest, DoesNotTakeARecycledProcessNumberForItsOwner) {
  LockOwner namesake = this_process();
  namesake.start_ticks -= 1;
  ASSERT_TRUE(take(namesake));
  EXPECT_TRUE(take());
}

TEST_F(StartLockTest, IsFreeAfterAReboot) {
  LockOwner before = this_process();
  before.boot = "an earlier boot";
  ASSERT_TRUE(take(before));
  EXPECT_TRUE(take());
}

TEST_F(StartLockTest, IsRespectedWhenItsOwnerCannotBeLookedUp) {
  LockOwner in_a_container = dead();
  in_a_container.pid_namespace += 1;
  ASSERT_TRUE(take(in_a_container));
  EXPECT_FALSE(take());
}

TEST_F(StartLockTest, HoldsNothingWhenItsRecordWasEdited) {
  folder.write("lock.3", "not a record");
  EXPECT_TRUE(take());
}

TEST_F(StartLockTest, LeavesOneFileBehindHoweverOftenItChangedHands) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(take(dead()));
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 1);
}

TEST_F(StartLockTest, GoesToExactlyOneOfManyProcessesThatFindADeadOwner) {
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(take(dead()));
    int gate[2], results[2];
    ASSERT_EQ(::pipe(gate), 0);
    ASSERT_EQ(::pipe(results), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 8; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        char byte;
        ::close(gate[1]);
        static_cast<void>(!::read(gate[0], &byte, 1));  // all at once: when the parent closes its end
        const auto taken = StartLock::take(base);
        byte = taken && taken->has_value() ? 'y' : 'n';
        static_cast<void>(!::write(results[1], &byte, 1));
        ::close(results[1]);
        ::pause();  // the owner lives until the count is done
        ::_exit(0);
      }
      children.push_back(child);
    }
    ::close(gate[0]);
    ::close(gate[1]);
    int winners = 0;
    for (int i = 0; i < 8; ++i) {
      char byte = 0;
      ASSERT_EQ(::read(results[0], &byte, 1), 1);
      winners += byte == 'y';
    }
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    ::close(results[0]);
    ::close(results[1]);
    EXPECT_EQ(winners, 1);
  }
}

}  // namespace
}  // namespace pounce::daemon
