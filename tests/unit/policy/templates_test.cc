// The site's lines as commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/job_template.h"

namespace pounce::policy {
namespace {

using ::testing::ElementsAre;

const Who kAlice{"/home/alice", "alice"};
const std::vector<std::string> kNotebooks = {"/home/alice/env/bin/python"};

TEST(CommandWordsTest, QuotesKeepWordsTogether) {
  EXPECT_THAT(*command_words("run  'two words' \"and 'one'\" a''b ''"),
              ElementsAre("run", "two words", "and 'one'", "ab", ""));
  EXPECT_FALSE(command_words("run 'open"));
}

TEST(WorkerCommandTest, IsTheNotebooksPythonWhereTheSiteSaysNothing) {
  EXPECT_EQ(worker_command({}, kNotebooks, false, kAlice), kNotebooks);
}

TEST(WorkerCommandTest, IsTheSitesPythonUnlessTheUserNamedOne) {
  Policy policy;
  policy.interpreter = "{home}/.venvs/{user}/bin/python";
  EXPECT_THAT(worker_command(policy, kNotebooks, false, kAlice), ElementsAre("/home/alice/.venvs/alice/bin/python"));
  EXPECT_EQ(worker_command(policy, kNotebooks, true, kAlice), kNotebooks);
}

TEST(WorkerCommandTest, RunsInTheSitesContainer) {
  Policy policy;
  policy.container = "apptainer exec --home {home} '/apps/my image.sif' {command}";
  EXPECT_THAT(
      worker_command(policy, kNotebooks, false, kAlice),
      ElementsAre("apptainer", "exec", "--home", "/home/alice", "/apps/my image.sif", "/home/alice/env/bin/python"));
}

}  // namespace
}  // namespace pounce::policy
