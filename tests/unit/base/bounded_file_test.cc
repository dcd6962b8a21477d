// Files that are read: never more of them than the reader said.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file_io.h"

namespace pounce {
namespace {

class BoundedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/pounce-bounded-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string file(const std::string& text) const {
    std::ofstream(folder + "/file") << text;
    return folder + "/file";
  }
  std::string folder;
};

TEST_F(BoundedFileTest, AWholeOneIsNoLongerThanSaid) {
  EXPECT_EQ(read_whole(file("12345"), 5), "12345");
  EXPECT_EQ(read_whole(file("123456"), 5), std::nullopt);
  EXPECT_EQ(read_whole(file(""), 5), "");
}

TEST_F(BoundedFileTest, OfALongOneTheLastWholeLinesAreRead) {
  EXPECT_EQ(read_end(file("one\ntwo\nthree\n"), 100), "one\ntwo\nthree\n");
  EXPECT_EQ(read_end(file("one\ntwo\nthree\n"), 11), "two\nthree\n");
  EXPECT_EQ(read_end(file("one\ntwo\nthree\n"), 8), "three\n");
  EXPECT_EQ(read_end(file(std::string(100, 'x')), 10), "");
}

TEST_F(BoundedFileTest, NothingButARegularFileIsRead) {
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, folder, folder + "/absent"}) {
    EXPECT_EQ(read_whole(path, 10), std::nullopt);
    EXPECT_EQ(read_end(path, 10), "");
  }
}

}  // namespace
}  // namespace pounce
