// What strangers wrote, as JSON and as lines: nothing in it acts on a terminal.
#include "pouncectl/output.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pounce::ctl {
namespace {

// A job's name with ESC and with C1's own ESC, and a mark that turns the writing around.
const std::string kName =
    "\x1b[2J\xc2\x9b"
    "2J\xe2\x80\xae";

TEST(OutputTest, JsonForATerminalIsAsciiWithoutControlCharacters) {
  const std::string text = json_text({{"name", kName}}, -1, true);
  EXPECT_EQ(text, R"({"name":"\u001b[2J\u009b2J\u202e"})");
  EXPECT_EQ(nlohmann::json::parse(text)["name"], kName);
}

TEST(OutputTest, JsonForAProgramKeepsItsLetters) {
  EXPECT_EQ(json_text({{"name", "naïve"}}, -1, false), R"({"name":"naïve"})");
}

// `pouncectl top --json` ended in an exception where one user had such a job.
TEST(OutputTest, WhatIsNoUtf8IsReplaced) {
  for (const bool ascii : {false, true})
    EXPECT_EQ(nlohmann::json::parse(json_text({{"name",
                                                "a\xff"
                                                "b"}},
                                              -1, ascii))["name"],
              "a\xef\xbf\xbd"
              "b");
}

TEST(OutputTest, ALineIsOneLine) {
  testing::internal::CaptureStdout();
  print_line("fine\x1b[2J\nnotebook 12345678: forged");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "fine\\x1b[2J\\nnotebook 12345678: forged\n");
}

}  // namespace
}  // namespace pounce::ctl
