// The site's policy as the daemon has it: read anew when the file changes, kept when the file is broken.
#include "pounced/leases/site_policy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon {
namespace {

using std::chrono::seconds;

class SitePolicyTest : public ::testing::Test {
 protected:
  // By a rename, as editors and pouncectl write: another inode each time.
  void write(const std::string& text) {
    const std::string other = path() + ".new";
    std::ofstream(other) << text;
    std::filesystem::rename(other, path());
  }
  std::string path() const { return scratch_.path() + "/policy.json"; }

  ScratchFolder scratch_;
};

TEST_F(SitePolicyTest, WithoutAFileThereIsNone) {
  SitePolicy policy("", path());
  EXPECT_EQ(policy.path(), "");
  EXPECT_EQ(policy.trouble(), "");
  EXPECT_TRUE(policy.now().classes.empty());
}

TEST_F(SitePolicyTest, AFileThatComesLaterIsFound) {
  SitePolicy policy("", path());
  write(R"({"classes": {"lion": {}}})");
  int changes = 0;
  policy.on_change([&] { ++changes; });
  policy.look();
  policy.look();
  EXPECT_EQ(policy.now().classes.size(), 1u);
  EXPECT_EQ(changes, 1);
}

TEST_F(SitePolicyTest, AChangeHoldsFromTheNextLookOn) {
  write(R"({"classes": {"lion": {"walltime": "1h"}}})");
  SitePolicy policy(path());
  write(R"({"classes": {"lion": {"walltime": "2h"}}})");
  policy.look();
  EXPECT_EQ(policy.now().classes[0].qos.walltime, std::chrono::hours(2));
}

TEST_F(SitePolicyTest, ABrokenFileLeavesTheLastGoodOneAndIsTold) {
  write(R"({"classes": {"lion": {}}})");
  SitePolicy policy(path());
  write(R"({"clases": {}})");
  policy.look();
  EXPECT_EQ(policy.now().classes.size(), 1u);
  EXPECT_NE(policy.trouble().find("did you mean \"classes\""), std::string::npos);
  write(R"({"classes": {}})");
  policy.look();
  EXPECT_TRUE(policy.now().classes.empty());
  EXPECT_EQ(policy.trouble(), "");
}

TEST_F(SitePolicyTest, ANamedFileThatIsNotThereIsTrouble) {
  SitePolicy policy(path());
  EXPECT_NE(policy.trouble().find("No such file"), std::string::npos);
}

// Its prologue is shell: who can write the file, or move another into its place, is the one who runs as us.
TEST_F(SitePolicyTest, AFileThatOthersCanWriteIsNotUsedAndIsOnceTheyCannot) {
  write(R"({"prologue": "id"})");
  for (const std::string& open : {path(), scratch_.path()}) {
    ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
    SitePolicy policy(path());
    EXPECT_EQ(policy.now().prologue, "");
    EXPECT_EQ(policy.trouble(), open + " can be written by others");
    ASSERT_EQ(::chmod(open.c_str(), 0700), 0);
    policy.look();
    EXPECT_EQ(policy.now().prologue, "id");
    EXPECT_EQ(policy.trouble(), "");
  }
}

TEST_F(SitePolicyTest, AFileOfAnotherUserIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  write(R"({"prologue": "id"})");
  ASSERT_EQ(::chown(path().c_str(), 12345, 12345), 0);
  const SitePolicy policy(path());
  EXPECT_EQ(policy.now().prologue, "");
  EXPECT_EQ(policy.trouble(), path() + " belongs to another user (uid 12345)");
}

TEST_F(SitePolicyTest, AFileOfHalfAGigabyteIsNotRead) {
  write("{}");
  std::filesystem::resize_file(path(), 512 << 20);
  const SitePolicy policy(path());
  EXPECT_NE(policy.trouble().find("is longer than 1048576 bytes"), std::string::npos);
}

TEST_F(SitePolicyTest, TheUsualFileMayGo) {
  write(R"({"classes": {"lion": {}}})");
  SitePolicy policy("", path());
  std::filesystem::remove(path());
  policy.look();
  EXPECT_TRUE(policy.now().classes.empty());
  EXPECT_EQ(policy.path(), "");
}

policy::Policy leasing(std::optional<seconds> keep_warm, std::optional<seconds> idle_release) {
  policy::Policy policy;
  policy.leasing.keep_warm = keep_warm;
  policy.leasing.idle_release = idle_release;
  return policy;
}

TEST(TimesUnderTest, TheSitesTimesHold) {
  const auto times = times_under(leasing(seconds(600), seconds(120)), Config{});
  EXPECT_EQ(times.keep_warm, seconds(600));
  EXPECT_EQ(times.idle_release, seconds(120));
  EXPECT_EQ(times_under({}, Config{}).idle_release, lease::Defaults{}.idle_release);
}

TEST(TimesUnderTest, AUserMayGiveBackEarlierButNotLater) {
  const Config sooner = *parse_config(R"({"idle_release_s": 5, "keep_warm_s": 0})");
  EXPECT_EQ(times_under(leasing(seconds(600), seconds(120)), sooner).idle_release, seconds(5));
  EXPECT_EQ(times_under(leasing(seconds(600), seconds(120)), sooner).keep_warm, seconds(0));
  const Config later = *parse_config(R"({"idle_release_s": 900})");
  EXPECT_EQ(times_under(leasing({}, seconds(120)), later).idle_release, seconds(120));
}

TEST(TimesUnderTest, NobodyMakesItAskSlurmWithoutAPause) {
  policy::Policy hasty;
  hasty.leasing.warm_poll = hasty.leasing.poll_max = seconds(0);
  EXPECT_EQ(times_under(hasty, Config{}).warm_poll, seconds(1));
  EXPECT_EQ(times_under(hasty, Config{}).poll_max, seconds(1));
  for (const char* key : {"poll_min_s", "poll_max_s", "warm_poll_s"})
    EXPECT_FALSE(parse_config("{\"" + std::string(key) + "\": 0}")) << key;
}

TEST(TimesUnderTest, TheFewerStartsHold) {
  policy::Policy ten;
  ten.leasing.starts_per_hour = 10;
  const Config five = *parse_config(R"({"starts_per_hour": 5})"), twenty = *parse_config(R"({"starts_per_hour": 20})");
  EXPECT_EQ(times_under(ten, Config{}).starts_per_hour, 10u);
  EXPECT_EQ(times_under(ten, five).starts_per_hour, 5u);
  EXPECT_EQ(times_under(ten, twenty).starts_per_hour, 10u);
  EXPECT_EQ(times_under({}, five).starts_per_hour, 5u);
}

TEST(TimesUnderTest, SavedVariablesAreKeptAsTheSiteSaysOrShorter) {
  policy::Policy week;
  week.leasing.parked_keep = std::chrono::hours(7 * 24);
  const Config day = *parse_config(R"({"parked_keep_s": 86400})"),
               month = *parse_config(R"({"parked_keep_s": 2592000})");
  EXPECT_EQ(times_under({}, Config{}).parked_keep, std::chrono::hours(14 * 24));
  EXPECT_EQ(times_under(week, Config{}).parked_keep, std::chrono::hours(7 * 24));
  EXPECT_EQ(times_under(week, day).parked_keep, std::chrono::hours(24));
  EXPECT_EQ(times_under(week, month).parked_keep, std::chrono::hours(7 * 24));
}

TEST(TimesUnderTest, TheSmallerLimitOfSavedVariablesHolds) {
  policy::Policy gigabyte, huge, none;
  gigabyte.leasing.parked_most = policy::Mib{1024};
  huge.leasing.parked_most = policy::Mib{std::uint64_t{1} << 40};
  none.leasing.parked_most = policy::Mib{};
  const Config half = *parse_config(R"({"parked_most_mib": 512})"), two = *parse_config(R"({"parked_most_mib": 2048})");
  EXPECT_EQ(times_under({}, Config{}).parked_most_mib, 0u);
  EXPECT_EQ(times_under(gigabyte, Config{}).parked_most_mib, 1024u);
  EXPECT_EQ(times_under(gigabyte, half).parked_most_mib, 512u);
  EXPECT_EQ(times_under(gigabyte, two).parked_most_mib, 1024u);
  EXPECT_EQ(times_under(huge, two).parked_most_mib, 2048u);
  EXPECT_EQ(times_under(none, two).parked_most_mib, 2048u);
  EXPECT_GT(times_under(huge, Config{}).parked_most_mib, 1u << 31);
}

TEST(TimesUnderTest, CellsGoOnAsTheSiteSaysAndKeepNoMoreThanItAllows) {
  policy::Policy all, none;
  all.leasing.keep_cells = true;
  all.leasing.cell_output = policy::Mib{128};
  none.leasing.cell_output = policy::Mib{};
  const Config own = *parse_config(R"({"keep_cells": 0, "cell_output_mib": 200})");
  EXPECT_EQ(times_under({}, Config{}).cell_output_mib, 64u);
  EXPECT_EQ(times_under({}, Config{}).keep_cells, 0u);
  EXPECT_EQ(times_under(all, Config{}).cell_output_mib, 64u);
  EXPECT_EQ(times_under(all, Config{}).keep_cells, 1u);
  EXPECT_EQ(times_under(all, own).cell_output_mib, 128u);
  EXPECT_EQ(times_under(all, own).keep_cells, 0u);
  EXPECT_EQ(times_under(none, own).cell_output_mib, 0u);
}

TEST(TimesUnderTest, WhatIsKeptWarmIsTheSitesToo) {
  policy::Policy policy;
  policy.leasing.keep_warm_blind = seconds(20);
  policy.leasing.warm_poll = seconds(8);
  const auto times = times_under(policy, Config{});
  EXPECT_EQ(times.keep_warm_blind, seconds(20));
  EXPECT_EQ(times.warm_poll, seconds(8));
}

policy::Policy two_classes() {
  policy::Policy policy;
  policy.classes.resize(2);
  policy.classes[0].name = "cheetah";
  policy.classes[0].qos = {.name = "fast", .walltime = std::chrono::minutes(30)};
  policy.classes[1].name = policy.classes[1].qos.name = "lion";
  policy.fallbacks["cheetah"] = {"lion"};
  return policy;
}

TEST(ClassOfTest, JobsAreShownByTheirClassNotByTheirQos) {
  JobView job;
  job.class_name = "fast";
  EXPECT_EQ(class_of(two_classes(), job), "cheetah");
  job.class_name = "other";
  EXPECT_EQ(class_of(two_classes(), job), "other");
  job.class_name = "";
  job.name = "pounce-cheetah";
  EXPECT_EQ(class_of(two_classes(), job), "cheetah");
}

TEST(ClassReportTest, NamesClassesWhatIsTakenInsteadAndWhichIsTakenWhereNoneIsNamed) {
  ClassReport report;
  report.classes = {{.name = "fast"}, {.name = "lion", .preset = true}};
  in_words_of(two_classes(), report);
  EXPECT_EQ(report.classes[0].name, "cheetah");
  EXPECT_EQ(report.classes[0].instead, std::vector<std::string>{"lion"});
  EXPECT_TRUE(report.classes[0].preset);
  EXPECT_FALSE(report.classes[1].preset);
}

}  // namespace
}  // namespace pounce::daemon
