#include <gtest/gtest.h>

#include "policy/policy_keys.h"

namespace pounce::policy {
namespace {

TEST(KeysTest, HasEachRuleOfAQosAsAKeyOfAClass) {
  const Key* walltime = key_at("classes.*", "walltime");
  ASSERT_NE(walltime, nullptr);
  EXPECT_EQ(walltime->form, Form::kMinutes);
  EXPECT_EQ(key_at("classes.*", "grace")->form, Form::kDuration);
  EXPECT_EQ(key_at("classes.*", "preempts")->form, Form::kTexts);
  EXPECT_EQ(key_at("classes.*", "deny_on_limit")->form, Form::kFlag);
  EXPECT_EQ(key_at("classes.*", "gpus_per_user")->form, Form::kCount);
  EXPECT_EQ(key_at("classes.*", "name"), nullptr);
}

TEST(NearestTest, IsTheFewestEditsAway) {
  EXPECT_EQ(nearest("walltme", {"qos", "walltime", "grace"}), "walltime");
  EXPECT_EQ(nearest("gracee", {"qos", "walltime", "grace"}), "grace");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace pounce::policy
