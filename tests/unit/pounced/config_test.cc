// The configuration file: what it may say, and that it says so when it may not.
#include "pounced/startup/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/pounced/environment.h"
#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(ConfigTest, IsAllDefaultsWhenEmpty) {
  const auto config = parse_config("{}");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->times.idle_release, lease::Defaults{}.idle_release);
  EXPECT_FALSE(config->launcher);
}

TEST(ConfigTest, AllowsComments) {
  const auto config = parse_config("{ // one line\n \"stand_in_gpus\": 2 /* inside */ }");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->stand_in_gpus, 2u);
}

TEST(ConfigTest, TakesEveryKeyOfTheLeasingTable) {
  for (const lease::ConfigKey& key : lease::kConfigKeys) {
    const auto config = parse_config("{\"" + std::string(key.name) + "\": 7, \"poll_max_s\": 60}");
    ASSERT_TRUE(config) << config.error().text;
    if (key.name == "poll_max_s") continue;
    if (key.time != nullptr)
      EXPECT_EQ(config->times.*key.time, milliseconds(key.in_seconds() ? 7000 : 7)) << key.name;
    else
      EXPECT_EQ(config->times.*key.number, 7u) << key.name;
  }
}

TEST(ConfigTest, TakesPartsOfASecond) {
  const auto config = parse_config(R"({"idle_release_s": 0.25})");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->times.idle_release, milliseconds(250));
}

TEST(ConfigTest, TakesTheFurtherNodesOfAJob) {
  const auto config = parse_config(R"({"local_nodes": [{"name": "g2", "relative": 1, "cpus": 4, "gpus": "0,MIG-1"}]})");
  ASSERT_TRUE(config) << config.error().text;
  ASSERT_EQ(config->local_nodes.size(), 1u);
  const ConfigNode& node = config->local_nodes.front();
  EXPECT_EQ(std::tuple(node.name, node.relative, node.cpus, node.memory_mib, node.gpus),
            std::tuple("g2", 1u, 4u, 0u, "0,MIG-1"));
}

TEST(ConfigTest, RefusesAnUnknownKeyAndListsTheKnownOnes) {
  const auto config = parse_config(R"({"idle_release": 5})");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::kBadRequest);
  EXPECT_THAT(config.error().text, HasSubstr("\"idle_release\""));
  for (const lease::ConfigKey& key : lease::kConfigKeys)
    EXPECT_THAT(config.error().text, HasSubstr(std::string(key.name)));
  for (const char* name : {"launcher", "stand_in_gpus", "advertise_address", "state_folder", "pounce_worker"})
    EXPECT_THAT(config.error().text, HasSubstr(name));
}

class BadConfigTest : public testing::TestWithParam<const char*> {};

TEST_P(BadConfigTest, IsRefused) { EXPECT_FALSE(parse_config(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Values, BadConfigTest,
                         testing::Values("", "[]", "nonsense", R"({"idle_release_s": -1})",
                                         R"({"idle_release_s": "60"})", R"({"idle_release_s": 1e300})",
                                         R"({"launcher": "pbs"})", R"({"launcher": 1})", R"({"stand_in_gpus": 1.5})",
                                         R"({"local_nodes": {}})", R"({"local_nodes": [7]})",
                                         R"({"local_nodes": [{"nmae": "g2"}]})", R"({"local_nodes": [{"cpus": "4"}]})",
                                         R"({"stand_in_gpus": -1})", R"({"crash_limit": 0})", R"({"state_folder": 7})",
                                         R"({"poll_min_s": 9, "poll_max_s": 8})"));

TEST(ConfigTest, NamesTheFileThatIsWrong) {
  const ScratchFolder folder;
  const std::string path = folder.write("broken.json", "{");
  const auto config = load_config(path);
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().text, HasSubstr(path));
}

TEST(ConfigTest, RefusesANamedFileThatDoesNotExist) {
  const ScratchFolder folder;
  EXPECT_FALSE(load_config(folder.file("missing.json")));
  const Variable named("POUNCE_CONFIG", folder.file("missing.json"));
  EXPECT_FALSE(load_config(""));
}

// It names programs that are started, and the policy.
TEST(ConfigTest, RefusesAFileThatOthersCouldHaveWritten) {
  const ScratchFolder folder;
  const std::string path = folder.write("pounced.json", "{}");
  ASSERT_TRUE(load_config(path));
  for (const std::string& open : {path, folder.path()}) {
    ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
    const auto config = load_config(path);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().text, "configuration: " + open + " can be written by others");
    EXPECT_EQ(config.error().remedy, "Take that right from them: chmod go-w " + open + ".");
    ASSERT_EQ(::chmod(open.c_str(), 0700), 0);
  }
  if (::geteuid() != 0) return;  // only root can give a file away
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_EQ(load_config(path).error().text, "configuration: " + path + " belongs to another user (uid 12345)");
}

TEST(ConfigTest, RefusesAFileOfAnUnreasonableSize) {
  const ScratchFolder folder;
  const std::string path = folder.write("pounced.json", "{}");
  std::filesystem::resize_file(path, 512 << 20);
  EXPECT_THAT(load_config(path).error().text, HasSubstr("is longer than"));
}

TEST(ConfigTest, PrefersTheCommandLineThenTheVariableThenTheHome) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.file(".config/pounce"));
  folder.write(".config/pounce/pounced.json", R"({"stand_in_gpus": 1})");
  const std::string by_variable = folder.write("variable.json", R"({"stand_in_gpus": 2})");
  const std::string by_name = folder.write("named.json", R"({"stand_in_gpus": 3})");
  const Variable home("HOME", folder.path());
  {
    const Variable variable("POUNCE_CONFIG", by_variable);
    EXPECT_EQ(load_config(by_name)->stand_in_gpus, 3u);
    EXPECT_EQ(load_config("")->stand_in_gpus, 2u);
  }
  const Variable variable("POUNCE_CONFIG", std::nullopt);
  EXPECT_EQ(load_config("")->stand_in_gpus, 1u);
}

}  // namespace
}  // namespace pounce::daemon
