// The records of applies, which of them a rollback undoes, and what plan says to a user.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "pouncectl/policy/policy_commands.h"

namespace pounce::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Qos qos(const std::string& name, int jobs) {
  Qos one{name};
  one.running_jobs_per_user = static_cast<std::uint32_t>(jobs);
  return one;
}

PolicyRecord a_record() {
  PolicyRecord record;
  record.when = "2026-01-31T12:00:00Z";
  record.who = "root (sudo by alice)";
  record.note = "it's \"term\" \xff";
  record.file = "site.json";
  record.changed = {"lion"};
  record.before = {qos("lion", 1), qos("tabby", 1)};
  record.after = {qos("lion", 4), qos("tabby", 1)};
  return record;
}

class PolicyHistoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/pounce-policy-XXXXXX";
    folder_ = std::string(::mkdtemp(name)) + "/not/yet";
  }
  void TearDown() override { std::filesystem::remove_all(std::filesystem::path(folder_).parent_path().parent_path()); }

  std::string folder_;
};

TEST_F(PolicyHistoryTest, IsEmptyWhereNothingWasApplied) { EXPECT_THAT(*PolicyHistory(folder_).read(), IsEmpty()); }

TEST_F(PolicyHistoryTest, KeepsWhatItIsToldForAnyoneToRead) {
  const PolicyHistory history(folder_);
  PolicyRecord first = a_record(), second = a_record();

  ASSERT_TRUE(history.begin(first));
  ASSERT_TRUE(history.begin(second));
  second.done = true;
  ASSERT_TRUE(history.finish(second));

  const auto records = history.read();
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 2u);
  EXPECT_FALSE((*records)[0].done);
  EXPECT_TRUE((*records)[1].done);
  EXPECT_EQ((*records)[1].number, 2);
  EXPECT_EQ((*records)[1].who, first.who);
  EXPECT_EQ((*records)[1].before, first.before);
  EXPECT_EQ((*records)[1].after, first.after);
  struct stat file{};
  ASSERT_EQ(::stat(history.path(second).c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0644u);
}

TEST_F(PolicyHistoryTest, ForgetsWhatWasNotDone) {
  const PolicyHistory history(folder_);
  PolicyRecord record = a_record();
  ASSERT_TRUE(history.begin(record));
  history.forget(record);
  EXPECT_THAT(*history.read(), IsEmpty());
}

TEST_F(PolicyHistoryTest, NamesTheFileThatIsNoRecord) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ + "/000007.json") << "{}";
  EXPECT_THAT(PolicyHistory(folder_).read().error().text, HasSubstr("000007.json"));
}

TEST_F(PolicyHistoryTest, TakesNoNumberThatIsTooLargeForAnother) {
  std::string text = encode_record(a_record());
  const std::string none = "\"undoes\": 0";
  text.replace(text.find(none), none.size(), "\"undoes\": 4294967297");  // 1, where it wraps
  EXPECT_FALSE(decode_record(text));
}

TEST_F(PolicyHistoryTest, SaysWhereItCannotWrite) {
  std::ofstream(std::filesystem::path(folder_).parent_path()) << "a file";
  PolicyRecord record = a_record();
  const auto begun = PolicyHistory(folder_).begin(record);
  ASSERT_FALSE(begun);
  EXPECT_THAT(begun.error().text, HasSubstr(folder_));
  EXPECT_THAT(begun.error().remedy, HasSubstr("--state"));
}

PolicyRecord numbered(int number, int undoes = 0) {
  PolicyRecord record;
  record.number = number;
  record.undoes = undoes;
  return record;
}

TEST(ToUndoTest, IsTheLastApplyThatIsNotUndone) {
  EXPECT_EQ(to_undo({}), nullptr);
  const std::vector<PolicyRecord> two = {numbered(1), numbered(2)};
  EXPECT_EQ(to_undo(two)->number, 2);
  const std::vector<PolicyRecord> one_undone = {numbered(1), numbered(2), numbered(3, 2)};
  EXPECT_EQ(to_undo(one_undone)->number, 1);
  const std::vector<PolicyRecord> again = {numbered(1), numbered(2), numbered(3, 2), numbered(4)};
  EXPECT_EQ(to_undo(again)->number, 4);
  const std::vector<PolicyRecord> both = {numbered(1), numbered(2), numbered(3, 2), numbered(4, 1)};
  EXPECT_EQ(to_undo(both), nullptr);
}

TEST(DriftTest, IsWhatOthersChangedOfTheQosInTheFile) {
  const auto drift = drift_of(a_record(), {qos("lion", 7), qos("tabby", 9)}, {qos("lion", 4)});
  EXPECT_THAT(drift, ElementsAre(policy::RuleChange{"lion", "running_jobs_per_user", "4", "7"}));
}

QosFacts facts_with(std::vector<Qos> all) {
  QosFacts facts;
  facts.cluster = "zoo";
  facts.has_database = facts.enforces_limits = facts.enforces_qos = true;
  facts.qos = std::move(all);
  return facts;
}

policy::Policy a_policy() {
  policy::Policy policy;
  policy.classes = {{"lion", "bigcats", "", qos("lion", 4)}};
  return policy;
}

TEST(PolicyReportTest, ShowsEachRuleWithWhatItIsAndWillBe) {
  const auto report = report_on(a_policy(), facts_with({qos("lion", 1), qos("normal", 1)}), {});
  EXPECT_EQ(report_text(*report),
            "note: this Slurm has no partition bigcats\n"
            "note: left as they are, not in the file: normal\n"
            "QOS   RULE                   NOW  THEN\n"
            "lion  running_jobs_per_user  1    4\n");
  EXPECT_THAT(report_json(*report), HasSubstr("\"then\": \"4\""));
}

TEST(PolicyReportTest, SaysThatThereIsNothingToDo) {
  const auto report = report_on(a_policy(), facts_with({qos("lion", 4)}), {});
  EXPECT_THAT(report_text(*report), HasSubstr("Nothing to do: the QoS of cluster zoo are so."));
}

TEST(PolicyReportTest, ShowsWhatOthersChanged) {
  const auto report = report_on(a_policy(), facts_with({qos("lion", 7)}), {a_record()});
  EXPECT_THAT(report_text(*report), HasSubstr("Changed by others since the last apply (2026-01-31T12:00:00Z by root"));
  EXPECT_THAT(report_text(*report), HasSubstr("QOS   RULE                   APPLIED  NOW\n"));
}

TEST(PolicyReportTest, WithoutSlurmdbdItListsWhatSlurmDoesNotEnforce) {
  QosFacts facts;
  facts.partitions = {"bigcats"};
  const auto report = report_on(a_policy(), facts, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report_text(*report),
            "This Slurm has no slurmdbd, so it has no QoS: there is nothing to change.\n"
            "Slurm does not enforce here:\n"
            "  lion: running_jobs_per_user 4\n"
            "Where pounced reads this policy it refuses what is over walltime and gpus_per_user, and ends jobs at the "
            "walltime; the other rules nobody enforces.\n");
}

TEST(PolicyReportTest, WhatSlurmWouldIgnoreIsRefused) {
  QosFacts facts = facts_with({});
  facts.enforces_limits = false;
  EXPECT_THAT(report_on(a_policy(), facts, {}).error().remedy, HasSubstr("AccountingStorageEnforce"));
}

}  // namespace
}  // namespace pounce::ctl
