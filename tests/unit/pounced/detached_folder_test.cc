// The results folder: a name is given once, and what is there is read only if it is ours alone.
#include "pounced/detached/detached_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon {
namespace {

class DetachedFolderTest : public ::testing::Test {
 protected:
  protocol::DetachedRecord prepared(std::uint8_t number, const std::string& name = "train-7") {
    std::array<std::uint8_t, TaskId::kBytes> bytes{number};
    protocol::DetachedRecord record;
    record.row.name = name;
    record.row.task = TaskId(bytes);
    ::mkdir((scratch_.path() + "/." + record.row.task.hex()).c_str(), 0700);
    return record;
  }
  std::string keep(const std::string& digest) { return scratch_.write("train-7/" + digest + ".outcome", "12345"); }

  // A folder in the place of the file, which no file can take.
  static void block(const std::string& file) {
    ::unlink(file.c_str());
    ::mkdir(file.c_str(), 0700);
  }
  static void unblock(const std::string& file) { ::rmdir(file.c_str()); }

  ScratchFolder scratch_;
  DetachedFolder folder_{scratch_.path()};
};

TEST_F(DetachedFolderTest, AClaimedNameHasItsRecord) {
  ASSERT_TRUE(folder_.claim(prepared(1)));

  const auto records = folder_.records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].row.task, prepared(1).row.task);
}

TEST_F(DetachedFolderTest, ANameIsGivenOnce) {
  ASSERT_TRUE(folder_.claim(prepared(1)));

  const auto second = folder_.claim(prepared(2));

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kNameTaken);
  EXPECT_EQ(folder_.record("train-7")->row.task, prepared(1).row.task);
}

TEST_F(DetachedFolderTest, ARemovedNameIsFreeAgain) {
  ASSERT_TRUE(folder_.claim(prepared(1)));
  folder_.remove("train-7");

  EXPECT_TRUE(folder_.claim(prepared(2)));
}

TEST_F(DetachedFolderTest, WhatIsChangedIsRead) {
  auto record = prepared(1);
  ASSERT_TRUE(folder_.claim(record));
  record.row.state = "running";
  record.retries = 3;
  ASSERT_TRUE(folder_.save(record));

  EXPECT_EQ(folder_.record("train-7")->row.state, "running");
  EXPECT_EQ(folder_.record("train-7")->retries, 3u);
}

TEST_F(DetachedFolderTest, AnEndThatCannotBeWrittenIsToldAndWrittenWhenItCan) {
  auto record = prepared(1);
  ASSERT_TRUE(folder_.claim(record));
  const std::string file = folder_.of("train-7") + "/record";
  block(file);
  record.row.state = "done";
  ASSERT_FALSE(folder_.save(record));

  folder_.keep(record);
  folder_.write_kept();
  EXPECT_EQ(folder_.record("train-7")->row.state, "done");

  unblock(file);
  folder_.write_kept();
  EXPECT_EQ(DetachedFolder(scratch_.path()).record("train-7")->row.state, "done");
}

TEST_F(DetachedFolderTest, AnEndThatWasNotWrittenIsForgottenWithItsName) {
  auto record = prepared(1);
  ASSERT_TRUE(folder_.claim(record));
  folder_.keep(record);

  folder_.remove("train-7");
  ASSERT_TRUE(folder_.claim(prepared(2)));

  EXPECT_EQ(folder_.record("train-7")->row.task, prepared(2).row.task);
}

TEST_F(DetachedFolderTest, AnEndThatWasNotWrittenIsNotTheNextTasksWhereSomebodyRemovedItsFolder) {
  auto record = prepared(1);
  ASSERT_TRUE(folder_.claim(record));
  folder_.keep(record);
  std::filesystem::remove_all(folder_.of("train-7"));

  ASSERT_TRUE(folder_.claim(prepared(2)));
  folder_.write_kept();

  EXPECT_EQ(folder_.record("train-7")->row.task, prepared(2).row.task);
}

TEST_F(DetachedFolderTest, AnOutcomeIsFoundByItsDigestOnly) {
  ASSERT_TRUE(folder_.claim(prepared(1)));
  keep("not-a-digest");
  EXPECT_FALSE(folder_.outcome("train-7"));

  keep(std::string(64, 'a'));

  EXPECT_EQ(folder_.outcome("train-7")->digest, std::string(64, 'a'));
  EXPECT_EQ(folder_.outcome("train-7")->size, 5u);
}

TEST_F(DetachedFolderTest, AFolderThatOthersCanEnterIsNotRead) {
  ASSERT_TRUE(folder_.claim(prepared(1)));
  ::chmod(folder_.of("train-7").c_str(), 0755);

  EXPECT_TRUE(folder_.records().empty());
}

TEST(UsableNameTest, IsOneThatCanOnlyBeAFolderInItsPlace) {
  for (const char* good : {"a", "train-7", "A.b_c-9", "7"}) EXPECT_TRUE(usable_name(good)) << good;
  for (const char* bad : {"", ".", "..", ".a", "a/b", "-a", "a b", "\xc3\xa4"}) EXPECT_FALSE(usable_name(bad)) << bad;
  EXPECT_TRUE(usable_name(std::string(64, 'a')));
  EXPECT_FALSE(usable_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace pounce::daemon
