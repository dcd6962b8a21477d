// Which Slurm, which launcher, which instance: the decisions before there is a daemon.
#include "pounced/startup/setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "unit/pounced/environment.h"
#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon {
namespace {

using testing::HasSubstr;

class SetupTest : public testing::Test {
 protected:
  SlurmPlaces places() const { return {folder.file("slurm.conf"), folder.file("run-conf")}; }

  ScratchFolder folder;
  Variable home{"HOME", folder.path()}, config{"POUNCE_CONFIG", std::nullopt}, conf{"SLURM_CONF", std::nullopt},
      server{"SLURM_CONF_SERVER", std::nullopt}, job{"SLURM_JOB_ID", std::nullopt};
};

TEST_F(SetupTest, FallsBackToThisMachineWhereNothingSpeaksOfSlurmAndSaysSo) {
  const auto setup = set_up({}, places());
  ASSERT_TRUE(setup) << setup.error().text;
  EXPECT_EQ(setup->launcher, LauncherKind::kLocal);
  EXPECT_THAT(setup->notice, HasSubstr("no Slurm"));
}

TEST_F(SetupTest, DoesNotFallBackWhenSlurmWasAskedFor) {
  const auto setup = set_up({"", "slurm", "", {}}, places());
  ASSERT_FALSE(setup);
  EXPECT_EQ(setup.error().code, ErrorCode::kNoSlurm);
}

TEST_F(SetupTest, DoesNotFallBackWhenTheNamedSlurmConfCannotBeRead) {
  const Variable missing("SLURM_CONF", folder.file("missing.conf"));
  const auto setup = set_up({}, places());
  ASSERT_FALSE(setup);
  EXPECT_EQ(setup.error().code, ErrorCode::kSlurmConfig);
}

TEST_F(SetupTest, DoesNotFallBackWhenTheDefaultSlurmConfNamesNoCluster) {
  folder.write("slurm.conf", "SlurmctldHost=nobody\n");
  const auto setup = set_up({}, places());
  ASSERT_FALSE(setup);
  EXPECT_EQ(setup.error().code, ErrorCode::kSlurmConfig);
}

TEST_F(SetupTest, SaysNothingWhenThisMachineWasAskedFor) {
  const auto setup = set_up({"", "local", "", {}}, places());
  ASSERT_TRUE(setup);
  EXPECT_EQ(setup->notice, "");
  EXPECT_EQ(setup->scope.cluster, "local");
}

TEST_F(SetupTest, LetsTheCommandLineOverruleTheConfiguration) {
  const std::string file = folder.write("c.json", R"({"launcher": "slurm"})");
  const auto setup = set_up({file, "local", "", {}}, places());
  ASSERT_TRUE(setup);
  EXPECT_EQ(setup->launcher, LauncherKind::kLocal);
}

TEST_F(SetupTest, RefusesALauncherThatDoesNotExist) {
  const auto setup = set_up({"", "pbs", "", {}}, places());
  ASSERT_FALSE(setup);
  EXPECT_EQ(setup.error().code, ErrorCode::kBadRequest);
}

TEST_F(SetupTest, KeepsItsFoldersBelowTheHome) {
  const auto setup = set_up({"", "local", "", {}}, places());
  ASSERT_TRUE(setup);
  EXPECT_EQ(setup->folders.state, folder.path() + "/.local/state/pounce/local/" + setup->instance.hex());
}

TEST_F(SetupTest, IsAnotherInstanceInsideAnotherJob) {
  const auto outside = set_up({"", "local", "", 0u}, places()), inside = set_up({"", "local", "", 17u}, places());
  ASSERT_TRUE(outside && inside);
  EXPECT_NE(outside->instance, inside->instance);
}

TEST_F(SetupTest, KnowsTheJobItRunsInByTheEnvironment) {
  const Variable outer("SLURM_JOB_ID", "17");
  const auto by_environment = set_up({"", "local", "", {}}, places()), told = set_up({"", "local", "", 17u}, places());
  ASSERT_TRUE(by_environment && told);
  EXPECT_EQ(by_environment->instance, told->instance);
}

TEST(SlurmUserTest, IsRefusedAsRootIs) {
  EXPECT_EQ(may_use_slurm(0, "slurm").error().code, ErrorCode::kRefusesRoot);
  EXPECT_EQ(may_use_slurm(12345, "12345").error().code, ErrorCode::kRefusesRoot);
  EXPECT_TRUE(may_use_slurm(12345, "slurm"));
}

class SlurmConfTest : public testing::Test {
 protected:
  ScratchFolder folder;
};

TEST_F(SlurmConfTest, ReadsTheClustersNameWhateverItsCase) {
  const std::string path =
      folder.write("slurm.conf", "# ClusterName=not\n clustername = MLeRP # ours\nSlurmUser=slurm(64030)\n");
  const auto conf = read_slurm_conf(path);
  ASSERT_TRUE(conf);
  EXPECT_EQ(conf->cluster, "mlerp");
  EXPECT_EQ(conf->slurm_user, "slurm");
}

TEST_F(SlurmConfTest, FollowsAnIncludeBesideIt) {
  folder.write("names.conf", "ClusterName=one\n");
  const auto conf = read_slurm_conf(folder.write("slurm.conf", "include names.conf\n"));
  ASSERT_TRUE(conf);
  EXPECT_EQ(conf->cluster, "one");
}

TEST_F(SlurmConfTest, DoesNotFollowAnIncludeThatIncludesItself) {
  const std::string path = folder.write("slurm.conf", "Include slurm.conf\nClusterName=one\n");
  EXPECT_EQ(read_slurm_conf(path)->cluster, "one");
}

TEST_F(SlurmConfTest, RefusesAFolderAndAFileWithoutAName) {
  EXPECT_FALSE(read_slurm_conf(folder.path()));
  EXPECT_FALSE(read_slurm_conf(folder.write("slurm.conf", "SlurmUser=slurm\n")));
}

TEST_F(SlurmConfTest, IsLookedForInLibslurmsOrder) {
  const Variable conf("SLURM_CONF", std::nullopt), server("SLURM_CONF_SERVER", std::nullopt);
  const SlurmPlaces places{folder.file("slurm.conf"), folder.file("run-conf")};
  EXPECT_EQ(find_slurm(places).found, SlurmFound::kNothing);
  {
    const Variable served("SLURM_CONF_SERVER", "controller");
    EXPECT_EQ(find_slurm(places).found, SlurmFound::kConfigless);
  }
  std::filesystem::create_directories(folder.file("run-conf"));
  EXPECT_EQ(find_slurm(places).found, SlurmFound::kConfigless);
  folder.write("run-conf/slurm.conf", "");
  EXPECT_EQ(find_slurm(places).path, folder.file("run-conf/slurm.conf"));
  folder.write("slurm.conf", "");
  EXPECT_EQ(find_slurm(places).path, folder.file("slurm.conf"));
  const Variable named("SLURM_CONF", "/else/slurm.conf");
  EXPECT_EQ(find_slurm(places).path, "/else/slurm.conf");
}

}  // namespace
}  // namespace pounce::daemon
