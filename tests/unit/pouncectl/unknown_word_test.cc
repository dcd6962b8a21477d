// A mistyped command was answered "A subcommand is required".
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "pouncectl/commands.h"

namespace pounce::ctl {
namespace {

class UnknownWordTest : public testing::Test {
 protected:
  UnknownWordTest() {
    app.require_subcommand(1);
    app.add_subcommand("status", "")->add_flag("--json", flag);
    CLI::App* policy = app.add_subcommand("policy", "");
    policy->require_subcommand(1);
    for (const char* name : {"plan", "apply"}) policy->add_subcommand(name, "")->add_option("FILE", text);
    CLI::App* release = app.add_subcommand("release", "");
    CLI::Option_group* which = release->add_option_group("which");
    which->add_option("LEASE", text);
    which->add_flag("--all", flag);
    which->require_option(1);
  }

  std::string said_of(std::vector<std::string> words) {
    const std::vector<std::string> given = words;
    std::reverse(words.begin(), words.end());  // as CLI11 takes a vector
    EXPECT_THROW(app.parse(words), CLI::ParseError);
    return unknown_word(app, given);
  }

  CLI::App app;
  bool flag = false;
  std::string text;
};

TEST_F(UnknownWordTest, ACommandThatIsNotThereIsNamedWithTheOneThatIsMeant) {
  EXPECT_EQ(said_of({"statsu"}),
            "there is no command 'statsu'; did you mean 'status'?\n`pouncectl --help` lists them.\n");
  EXPECT_EQ(said_of({"--json", "statsu", "--json"}).substr(0, 29), "there is no command 'statsu';");
}

TEST_F(UnknownWordTest, ACommandThatIsLikeNoneIsNamedAlone) {
  EXPECT_EQ(said_of({"rm"}), "there is no command 'rm'\n`pouncectl --help` lists them.\n");
}

TEST_F(UnknownWordTest, ACommandBelowPolicyIsLookedForThere) {
  EXPECT_EQ(said_of({"policy", "plna", "site.json"}),
            "there is no command 'policy plna'; did you mean 'plan'?\n`pouncectl policy --help` lists them.\n");
}

TEST_F(UnknownWordTest, AnOptionIsLookedForAmongThoseOfItsCommand) {
  EXPECT_EQ(
      said_of({"status", "--jsno=1"}),
      "`pouncectl status` has no option '--jsno'; did you mean '--json'?\n`pouncectl status --help` lists them.\n");
  EXPECT_EQ(said_of({"release", "--al"}).substr(0, 66),
            "`pouncectl release` has no option '--al'; did you mean '--all'?\n`p");
}

TEST_F(UnknownWordTest, OfALineWhoseWordsAreAllThereNothingIsSaid) {
  EXPECT_EQ(said_of({}), "");
  EXPECT_EQ(said_of({"policy"}), "");
  EXPECT_EQ(said_of({"release"}), "");
}

}  // namespace
}  // namespace pounce::ctl
