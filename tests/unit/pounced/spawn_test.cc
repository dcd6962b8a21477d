// What a daemon inherits from whoever starts it: a few variables, and nothing else.
#include "pounced/startup/spawn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>

#include "unit/pounced/environment.h"
#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

std::string read_to_the_end(int fd) {
  std::string text;
  char buffer[256];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

TEST(SpawnTest, PassesWhereSlurmIsAndWhichJobThisIsButNoLaunch) {
  const Variable conf("SLURM_CONF", "/etc/slurm.conf"), job("SLURM_JOB_ID", "7"), memory("SLURM_MEM_PER_NODE", "1");
  const auto environment = daemon_environment();
  EXPECT_THAT(environment, Contains(Pair("SLURM_CONF", "/etc/slurm.conf")));
  EXPECT_THAT(environment, Contains(Pair("SLURM_JOB_ID", "7")));
  EXPECT_THAT(environment, Not(Contains(Key("SLURM_MEM_PER_NODE"))));
}

TEST(SpawnTest, PassesNoSecretsOfAShell) {
  const Variable secret("AWS_SECRET_ACCESS_KEY", "x"), xdg("XDG_RUNTIME_DIR", "/run/user/1");
  EXPECT_THAT(daemon_environment(), Not(Contains(Key("AWS_SECRET_ACCESS_KEY"))));
  EXPECT_THAT(daemon_environment(), Contains(Key("XDG_RUNTIME_DIR")));
}

// The started shell tells of itself on the report pipe; standard error is the log.
TEST(SpawnTest, StartsAProcessOfItsOwnSessionThatIsNotOurChild) {
  const ScratchFolder folder;
  const auto pipe = spawn_detached(
      {"/bin/sh", "-c", "echo logged >&2; set -- $(cat /proc/$$/stat); echo $4 $6 $PWD >&3"}, folder.file("log"));
  ASSERT_TRUE(pipe) << pipe.error().text;
  std::istringstream told(read_to_the_end(pipe->get()));
  long parent = 0, session = 0;
  std::string directory;
  told >> parent >> session >> directory;
  EXPECT_NE(parent, ::getpid());
  EXPECT_NE(session, ::getsid(0));
  EXPECT_EQ(directory, "/");
  EXPECT_EQ(content_of(folder.file("log")), "logged\n");
}

TEST(SpawnTest, SaysWhenTheProgramCannotBeStarted) {
  const ScratchFolder folder;
  const auto pipe = spawn_detached({folder.file("missing")}, folder.file("log"));
  ASSERT_FALSE(pipe);
  EXPECT_EQ(pipe.error().code, ErrorCode::kDaemonUnavailable);
  EXPECT_THAT(pipe.error().text, HasSubstr(folder.file("missing") + " in /: No such file"));
}

TEST(SpawnTest, SaysWhenTheLogCannotBeWritten) {
  const auto pipe = spawn_detached({"/bin/true"}, "/nonexistent/log");
  ASSERT_FALSE(pipe);
  EXPECT_THAT(pipe.error().text, HasSubstr("/nonexistent/log"));
}

}  // namespace
}  // namespace pounce::daemon
