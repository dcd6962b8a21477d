// The folder of checkpoints: what is old goes, whatever task it was of.
#include <gtest/gtest.h>

#include <set>

#include "pounced/detached/detached_folder.h"
#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon {
namespace {

using namespace std::chrono_literals;

class CheckpointFolderTest : public ::testing::Test {
 protected:
  void write(const std::string& name, std::chrono::seconds age) {
    std::filesystem::last_write_time(scratch_.write(name, "1"), std::filesystem::file_time_type::clock::now() - age);
  }
  std::set<std::string> there() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path()))
      names.insert(entry.path().filename());
    return names;
  }

  ScratchFolder scratch_;
  CheckpointFolder folder_{scratch_.path()};
};

TEST_F(CheckpointFolderTest, RemovesATasksOwn) {
  const TaskId task(std::array<std::uint8_t, TaskId::kBytes>{1});
  write(task.hex() + ".checkpoint", 0s);
  write("another.checkpoint", 0s);

  folder_.remove(task);

  EXPECT_EQ(there(), std::set<std::string>{"another.checkpoint"});
}

TEST_F(CheckpointFolderTest, RemovesThoseOfASessionAndOfNoOther) {
  const SessionId session(std::array<std::uint8_t, SessionId::kBytes>{1}),
      other(std::array<std::uint8_t, SessionId::kBytes>{2});
  write(session.hex() + "-a.checkpoint", 0s);
  write(session.hex() + "-b.0123.new", 0s);
  write(other.hex() + "-c.checkpoint", 0s);
  write("named.checkpoint", 0s);

  folder_.remove_all_of(session);

  EXPECT_EQ(there(), (std::set<std::string>{other.hex() + "-c.checkpoint", "named.checkpoint"}));
}

TEST_F(CheckpointFolderTest, RemovesWhatNobodyCameBackToInTime) {
  write("young.checkpoint", 50s);
  write("old.checkpoint", 70s);

  folder_.remove_older(60s, 10s);

  EXPECT_EQ(there(), std::set<std::string>{"young.checkpoint"});
}

TEST_F(CheckpointFolderTest, RemovesWhatAWorkerLeftThatDiedWhileItWrote) {
  write("a.0123.new", 5s);
  write("b.0123.new", 20s);

  folder_.remove_older(60s, 10s);

  EXPECT_EQ(there(), std::set<std::string>{"a.0123.new"});
}

TEST_F(CheckpointFolderTest, LeavesWhatIsNotOfOurs) {
  write("note", 100s);

  folder_.remove_older(60s, 10s);

  EXPECT_EQ(there(), std::set<std::string>{"note"});
}

TEST_F(CheckpointFolderTest, IsContentWhereThereIsNone) {
  std::filesystem::remove(scratch_.path());

  folder_.remove_older(60s, 10s);

  EXPECT_FALSE(std::filesystem::exists(scratch_.path()));
}

}  // namespace
}  // namespace pounce::daemon
