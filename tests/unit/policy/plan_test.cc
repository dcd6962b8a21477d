// What changes from the QoS there are to those wanted, and what Slurm would silently ignore.
#include "policy/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pounce::policy {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Qos kLion{.name = "lion", .walltime = minutes(1440), .running_jobs_per_user = 4, .priority = 10};

Qos lion(void (*change)(Qos&)) {
  Qos one = kLion;
  change(one);
  return one;
}

QosFacts a_well_set_up_slurm() {
  QosFacts facts;
  facts.has_database = facts.enforces_limits = facts.enforces_qos = facts.counts_gpus = facts.preempts_by_qos = true;
  facts.partitions = {"bigcats"};
  return facts;
}

struct Difference {
  const char* rule;
  void (*change)(Qos&);
  const char *now, *then;
};

class DifferenceTest : public ::testing::TestWithParam<Difference> {};

TEST_P(DifferenceTest, IsOneRuleAndItsWayBackTheOther) {
  const Difference& row = GetParam();
  const Qos changed = lion(row.change);

  const Plan there = plan({kLion}, {changed}), back = plan({changed}, {kLion});

  EXPECT_THAT(there.changes, ElementsAre(RuleChange{"lion", row.rule, row.now, row.then}));
  EXPECT_THAT(there.write, ElementsAre(changed));
  EXPECT_THAT(there.create, IsEmpty());
  EXPECT_THAT(back.changes, ElementsAre(RuleChange{"lion", row.rule, row.then, row.now}));
}

INSTANTIATE_TEST_SUITE_P(
    All, DifferenceTest,
    ::testing::Values(Difference{"walltime", [](Qos& q) { q.walltime = minutes(30); }, "1d", "30min"},
                      Difference{"walltime", [](Qos& q) { q.walltime.reset(); }, "1d", "none"},
                      Difference{"running_jobs_per_user", [](Qos& q) { q.running_jobs_per_user = 7; }, "4", "7"},
                      Difference{"running_jobs_per_user", [](Qos& q) { q.running_jobs_per_user.reset(); }, "4", "none"},
                      Difference{"submitted_jobs_per_user", [](Qos& q) { q.submitted_jobs_per_user = 9; }, "none", "9"},
                      Difference{"gpus_per_user", [](Qos& q) { q.gpus_per_user = 0; }, "none", "0"},
                      Difference{"priority", [](Qos& q) { q.priority = 0; }, "10", "0"},
                      Difference{"preempts", [](Qos& q) { q.preempts = {"normal", "tabby"}; }, "none", "normal, tabby"},
                      Difference{"grace", [](Qos& q) { q.grace = seconds(90); }, "0s", "90s"},
                      Difference{"deny_on_limit", [](Qos& q) { q.deny_on_limit = true; }, "false", "true"}));

TEST(PlanTest, WhatIsAsWantedChangesNothing) {
  const Plan none = plan({kLion}, {kLion});
  EXPECT_THAT(none.changes, IsEmpty());
  EXPECT_THAT(none.write, IsEmpty());
}

TEST(PlanTest, AQosThatIsNotThereIsMadeWithItsRules) {
  const Plan one = plan({}, {kLion});
  EXPECT_THAT(one.create, ElementsAre("lion"));
  EXPECT_THAT(
      one.changes,
      ElementsAre(RuleChange{"lion", "new", "none", "made"}, RuleChange{"lion", "walltime", "none", "1d"},
                  RuleChange{"lion", "running_jobs_per_user", "none", "4"}, RuleChange{"lion", "priority", "0", "10"}));
}

TEST(PlanTest, ANewQosWithoutRulesIsMadeToo) { EXPECT_THAT(plan({}, {Qos{"plain"}}).write, ElementsAre(Qos{"plain"})); }

TEST(PlanTest, AQosThatThePolicyDoesNotNameIsLeft) {
  const Plan one = plan({kLion, Qos{"normal"}}, {kLion});
  EXPECT_THAT(one.left, ElementsAre("normal"));
  EXPECT_THAT(one.changes, IsEmpty());
}

TEST(ObstacleTest, AWellSetUpSlurmHasNone) {
  const Qos all{.name = "all",
                .walltime = minutes(30),
                .running_jobs_per_user = 2,
                .submitted_jobs_per_user = 9,
                .gpus_per_user = 2,
                .priority = 1,
                .preempts = {"lion"},
                .grace = seconds(60),
                .deny_on_limit = true};
  EXPECT_FALSE(obstacle(a_well_set_up_slurm(), {kLion, all}));
}

struct Missing {
  bool QosFacts::* fact;
  void (*change)(Qos&);
  const char* fix;
};

class ObstacleByFactTest : public ::testing::TestWithParam<Missing> {};

TEST_P(ObstacleByFactTest, IsToldWithTheLineForSlurmConf) {
  QosFacts facts = a_well_set_up_slurm();
  facts.*GetParam().fact = false;
  const auto told = obstacle(facts, {lion(GetParam().change)});
  ASSERT_TRUE(told);
  EXPECT_THAT(told->text, HasSubstr("Slurm would ignore"));
  EXPECT_THAT(told->remedy, HasSubstr(GetParam().fix));
}

INSTANTIATE_TEST_SUITE_P(
    All, ObstacleByFactTest,
    ::testing::Values(
        Missing{&QosFacts::enforces_limits, [](Qos&) {}, "AccountingStorageEnforce=associations,limits,qos"},
        Missing{&QosFacts::enforces_qos, [](Qos& q) { q = Qos{"plain"}; }, "AccountingStorageEnforce="},
        Missing{&QosFacts::counts_gpus, [](Qos& q) { q.gpus_per_user = 2; }, "AccountingStorageTRES=gres/gpu"},
        Missing{&QosFacts::preempts_by_qos, [](Qos& q) { q.preempts = {"tabby"}; }, "PreemptType=preempt/qos"},
        Missing{&QosFacts::preempts_by_qos, [](Qos& q) { q.grace = seconds(9); }, "PreemptType=preempt/qos"}));

TEST(ObstacleTest, WhatThePolicyDoesNotUseIsNone) {
  QosFacts facts = a_well_set_up_slurm();
  facts.counts_gpus = facts.preempts_by_qos = false;
  EXPECT_FALSE(obstacle(facts, {kLion}));
}

TEST(NotEnforcedTest, NamesTheRulesOfEachClass) {
  EXPECT_THAT(not_enforced({kLion, Qos{"plain"}}),
              ElementsAre("lion: walltime 1d, running_jobs_per_user 4, priority 10"));
}

TEST(MissingPartitionsTest, AreNamedOnce) {
  Policy policy;
  for (const char* partition : {"bigcats", "housecats", "housecats", ""})
    policy.classes.push_back({std::string("on ") + partition, partition, "", {}});
  EXPECT_THAT(missing_partitions(a_well_set_up_slurm(), policy), ElementsAre("housecats"));
}

}  // namespace
}  // namespace pounce::policy
