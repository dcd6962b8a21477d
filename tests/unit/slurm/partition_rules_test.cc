#include <gtest/gtest.h>

#include "slurm/partition.h"

namespace pounce::slurm {
namespace {

std::vector<PartitionRules> site() {
  PartitionRules open{"open"}, lions{"lions"}, no_tabby{"no_tabby"}, physics{"physics"}, staff{"staff"};
  open.most_minutes = 60;
  lions.qos = {"lion", "panther"};
  no_tabby.not_qos = {"tabby"};
  physics.accounts = {"physics"};
  staff.groups = {"staff"};
  return {open, lions, no_tabby, physics, staff};
}

std::string told(Refused about, const PartitionRequest& request) {
  const auto error = partition_refusal(about, site(), request);
  return error ? error->text : "";
}

TEST(PartitionRulesTest, AQosThatThePartitionDoesNotTakeIsToldWithThoseThatDo) {
  EXPECT_EQ(told(Refused::kQos, {"lions", "cheetah", "class 'quick' (QoS 'cheetah')", "ml"}),
            "partition lions takes QoS lion, panther alone; asked for: class 'quick' (QoS 'cheetah'); those that take "
            "it: open, no_tabby, physics, staff");
  EXPECT_EQ(
      told(Refused::kQos, {"no_tabby", "tabby", "class 'tabby'", "ml"}),
      "partition no_tabby does not take QoS tabby; asked for: class 'tabby'; those that take it: open, physics, staff");
}

TEST(PartitionRulesTest, AnAccountThatThePartitionDoesNotTakeIsTold) {
  EXPECT_EQ(told(Refused::kAccount, {"physics", "lion", "class 'lion'", "ml"}),
            "partition physics takes accounts physics alone; asked for: account 'ml'; those that take it: open, lions, "
            "no_tabby, staff");
}

TEST(PartitionRulesTest, AGroupIsTold) {
  EXPECT_EQ(told(Refused::kGroup, {"staff", "lion", "class 'lion'", "ml"}),
            "partition staff takes members of staff alone, and you are none of them");
}

TEST(PartitionRulesTest, MoreTimeThanThePartitionGivesIsUnsatisfiable) {
  const auto error = partition_refusal(Refused::kTime, site(), {"open", "lion", "class 'lion'", "ml", 61});

  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kUnsatisfiable);
  EXPECT_EQ(error->text, "partition open gives at most 60 minutes; asked for: 61 minutes");
}

TEST(PartitionRulesTest, APartitionThatIsNotThereIsToldWithThoseThatAre) {
  EXPECT_EQ(told(Refused::kName, {"nosuch", "", "", ""}),
            "there is no partition 'nosuch'; the partitions are open, lions, no_tabby, physics, staff");
}

TEST(PartitionRulesTest, WhatThePartitionLetsInHasAnotherCause) {
  for (const Refused about : {Refused::kQos, Refused::kAccount, Refused::kGroup, Refused::kTime, Refused::kName})
    EXPECT_EQ(told(about, {"open", "lion", "class 'lion'", "ml", 60}), "");
}

}  // namespace
}  // namespace pounce::slurm
