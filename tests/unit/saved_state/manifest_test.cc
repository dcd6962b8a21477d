#include "saved_state/manifest.h"

#include <gtest/gtest.h>

namespace pounce::saved_state {
namespace {

constexpr char kOne[] =
    R"({"format": 1, "cell": 7, "turn": 9, "made": {"conn": 3}, "modules": {}, "process": null, "unparkable": {"conn": "a socket"},
        "units": [{"names": ["b", "a"], "graph": [70, ["00"]], "cell": 7}, {"names": ["_1", "c"]}], "digest": "00"})";

TEST(ManifestTest, TellsTheCellTheNamesAndWhatIsNotSaved) {
  const auto read = read_manifest(kOne);

  ASSERT_TRUE(read);
  EXPECT_EQ(read->cell, 7);
  EXPECT_EQ(read->unparkable.at("conn"), "a socket");
  EXPECT_EQ(variables_of(*read), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(ManifestTest, OneOfAnotherFormatIsRefusedWithBothNumbers) {
  const auto read = read_manifest(R"({"format": 2, "units": []})");

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().text, "the saved state has format 2, and this pounce reads 1");
}

TEST(ManifestTest, ALongListIsReadForItsNamesAlone) {
  std::string text =
      R"({"format": 1, "cell": 7, "made": {"names": 3}, "unparkable": {"names": "a socket", "graph": "a pipe"}, "units": [)";
  for (int number = 0; text.size() < 20 << 20; ++number)
    text += R"({"names": ["v)" + std::to_string(number) + R"("], "cell": 7, "graph": [1000, [")" +
            std::string(64 * 100, 'a') + R"("]]}, )";
  text += R"({"names": ["last"]}]})";

  const auto read = read_manifest(text);

  ASSERT_TRUE(read);
  EXPECT_GT(read->units.size(), 3000u);
  EXPECT_EQ(read->units.back().names, std::vector<std::string>{"last"});
  EXPECT_EQ(read->unparkable, (std::map<std::string, std::string>{{"graph", "a pipe"}, {"names", "a socket"}}));
}

class DamagedManifestTest : public testing::TestWithParam<const char*> {};

TEST_P(DamagedManifestTest, IsRefused) {
  const auto read = read_manifest(GetParam());

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().text, "the list of what was saved is cut off or was changed");
}

INSTANTIATE_TEST_SUITE_P(
    Texts, DamagedManifestTest,
    testing::Values("", "[]", R"({"format": 1, "uni)", R"({"format": 1.5})", R"({"format": 1, "cell": 1e99})",
                    R"({"format": 1, "units": {}})", R"({"format": 1, "units": {"a": {"names": ["a"]}}})",
                    R"({"format": 1, "units": [3]})", R"({"format": 1, "unparkable": {"conn": {"names": []}}})",
                    R"({"format": 1, "units": [{"names": [3]}]})", R"({"format": 1, "unparkable": {"conn": 3}})"));

TEST(AboutTest, TellsWhoseItIs) {
  const auto read = read_about(
      R"({"notebook": "/home/alice/fit.ipynb", "host": "login", "pid": 7, "python": "3.11.2", "began": 1.5, "setup": [[3, "x"]]})");

  ASSERT_TRUE(read);
  EXPECT_EQ(read->notebook, "/home/alice/fit.ipynb");
  EXPECT_EQ(read->host, "login");
  EXPECT_EQ(read->python, "3.11.2");
}

TEST(AboutTest, WhatIsCutOffIsRefused) { EXPECT_FALSE(read_about(R"({"notebook": "/ho)")); }

}  // namespace
}  // namespace pounce::saved_state
