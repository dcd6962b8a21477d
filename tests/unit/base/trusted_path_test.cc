// Who could have put a file where it is: what is believed, and every way in which somebody else could have.
#include "base/trusted_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace pounce {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

constexpr unsigned kSomebody = 12345;
constexpr std::size_t kMost = 100;

class TrustedPathTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/pounce-trust-XXXXXX";  // below a folder where everybody may write, but not touch what is ours
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder = name;
    fs::create_directories(folder + "/a/b");
    std::ofstream(path()) << "content";
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path() const { return folder + "/a/b/file"; }
  static std::string why_not(const std::string& path) {
    const auto read = read_trusted_file(path, kMost);
    return read ? "it was read: " + *read : read.error().text;
  }

  std::string folder;
};

TEST_F(TrustedPathTest, ReadsAFileThatOnlyWeCanHaveWritten) {
  EXPECT_EQ(read_trusted_file(path(), kMost).value(), "content");
}

TEST_F(TrustedPathTest, BelievesNoFileAndNoFolderThatOthersMayWrite) {
  for (const std::string& open : {path(), folder + "/a/b", folder + "/a"}) {
    ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
    EXPECT_EQ(why_not(path()), open + " can be written by others");
    ASSERT_EQ(::chmod(open.c_str(), 0700), 0);
  }
  ASSERT_EQ(::chmod((folder + "/a").c_str(), 0777), 0);
  EXPECT_THAT(read_trusted_file(path(), kMost).error().remedy, HasSubstr("chmod go-w " + folder + "/a"));
  EXPECT_FALSE(open_trusted_folder(folder + "/a/b"));
}

TEST_F(TrustedPathTest, BelievesNothingThatBelongsToAnother) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  for (const std::string& theirs : {path(), folder + "/a/b", folder + "/a"}) {
    ASSERT_EQ(::chown(theirs.c_str(), kSomebody, kSomebody), 0);
    EXPECT_EQ(why_not(path()), theirs + " belongs to another user (uid 12345)");
    ASSERT_EQ(::chown(theirs.c_str(), 0, 0), 0);
  }
}

TEST_F(TrustedPathTest, BelievesAGroupOnlyIfItIsOursAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chmod(path().c_str(), 0660), 0);
  ASSERT_EQ(::chown(path().c_str(), 0, 0), 0);  // root's own group
  EXPECT_TRUE(read_trusted_file(path(), kMost));
  ASSERT_EQ(::chown(path().c_str(), 0, kSomebody), 0);
  EXPECT_EQ(why_not(path()), path() + " can be written by others");
}

TEST_F(TrustedPathTest, FollowsOurLinksUnderTheSameRules) {
  fs::create_symlink("a/b", folder + "/here");
  fs::create_symlink(folder + "/a", folder + "/there");
  EXPECT_EQ(read_trusted_file(folder + "/here/file", kMost).value(), "content");
  EXPECT_EQ(read_trusted_file(folder + "/there/../here/file", kMost).value(), "content");

  ASSERT_EQ(::chmod((folder + "/a").c_str(), 0777), 0);
  EXPECT_EQ(why_not(folder + "/here/file"), folder + "/a can be written by others");
}

TEST_F(TrustedPathTest, FollowsNobodyElsesLink) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
  fs::create_symlink("a", folder + "/theirs");
  ASSERT_EQ(::lchown((folder + "/theirs").c_str(), kSomebody, kSomebody), 0);
  EXPECT_THAT(why_not(folder + "/theirs/b/file"), HasSubstr("belongs to another user"));
}

TEST_F(TrustedPathTest, EndsALinkThatLeadsToItself) {
  fs::create_symlink("round", folder + "/round");
  EXPECT_THAT(why_not(folder + "/round"), HasSubstr("is a link to nowhere"));
}

TEST_F(TrustedPathTest, ReadsNoFolderNothingAbsentAndNothingTooLong) {
  std::ofstream(folder + "/long") << std::string(kMost + 1, 'x');
  EXPECT_THAT(why_not(folder + "/a"), HasSubstr("is no file"));
  EXPECT_THAT(why_not(folder + "/absent/file"), HasSubstr("No such file"));
  EXPECT_THAT(why_not(folder + "/long"), HasSubstr("is longer than 100 bytes"));
}

TEST_F(TrustedPathTest, AnOwnNameIsTheUsualOneUntilSomebodyElseTakesIt) {
  EXPECT_EQ(own_name_in(folder, "mine"), folder + "/mine");
  fs::create_directory(folder + "/mine");
  EXPECT_EQ(own_name_in(folder, "mine"), folder + "/mine");
}

TEST_F(TrustedPathTest, AnOwnNameThatIsTakenIsFollowedByOneThatNobodyGuessesAndAllFind) {
  std::ofstream(folder + "/taken") << "by a file";
  const std::string other = own_name_in(folder, "taken");
  EXPECT_THAT(other, StartsWith(folder + "/taken-"));
  EXPECT_EQ(own_name_in(folder, "taken"), other);

  fs::create_directory(folder + "/taken-0");  // as another process of ours made it
  EXPECT_EQ(own_name_in(folder, "taken"), folder + "/taken-0");
}

TEST_F(TrustedPathTest, AnOwnNameIsNoFolderOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  fs::create_directory(folder + "/squatted");
  fs::create_directory(folder + "/squatted-0");
  for (const char* name : {"/squatted", "/squatted-0"})
    ASSERT_EQ(::chown((folder + name).c_str(), kSomebody, kSomebody), 0);
  const std::string other = own_name_in(folder, "squatted");
  EXPECT_THAT(other, StartsWith(folder + "/squatted-"));
  EXPECT_NE(other, folder + "/squatted-0");
}

}  // namespace
}  // namespace pounce
