// Files of lines are their user's alone, and do not grow for ever.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "pounced/storage/file.h"
#include "scratch_folder.h"

namespace pounce::daemon {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(LineFileTest, AFullOneMakesPlaceAndTheOneBeforeItGoes) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/lines";

  for (const char* line : {"one\n", "two\n", "three\n", "four\n", "five\n"}) EXPECT_TRUE(append_lines(path, line, 6));

  EXPECT_EQ(content(path), "five\n");
  EXPECT_EQ(content(path + ".1"), "three\nfour\n");
}

TEST(LineFileTest, IsForItsUserAlone) {
  const ScratchFolder folder;
  ASSERT_TRUE(append_lines(folder.path() + "/lines", "one\n", 6));

  struct stat is{};
  ASSERT_EQ(::stat((folder.path() + "/lines").c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777, 0600u);
}

TEST(LineFileTest, SaysWhereNothingCanBeWritten) { EXPECT_FALSE(append_lines("/nowhere/lines", "one\n", 6)); }

}  // namespace
}  // namespace pounce::daemon
