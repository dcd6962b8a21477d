// A policy becomes the simulated site that it describes.
#include <gtest/gtest.h>

#include "policy/policy.h"
#include "pouncectl/policy/policy_commands.h"

namespace pounce::ctl {
namespace {

TEST(PolicySiteTest, TakesTheClassesLimitsAndTheLeasingTimes) {
  const auto policy = policy::parse_policy(R"({
    "classes": {"lion": {"walltime": "1d", "running_jobs_per_user": 4, "gpus_per_user": 2, "priority": 10}, "tabby": {}},
    "leasing": {"keep_warm": "10min", "idle_release": "2min", "starts_per_hour": 60}})");
  ASSERT_TRUE(policy);
  SimulateOptions options;
  options.users = 7;

  const auto site = site_of(*policy, options);

  ASSERT_TRUE(site);
  EXPECT_EQ(site->users, 7u);
  EXPECT_EQ(site->keep_warm, std::chrono::minutes(10));
  EXPECT_EQ(site->idle_release, std::chrono::minutes(2));
  EXPECT_EQ(site->starts_per_hour, 60u);
  ASSERT_EQ(site->classes.size(), 2u);
  EXPECT_EQ(site->classes[0].jobs_per_user, 4u);
  EXPECT_EQ(site->classes[0].gpus_per_user, 2u);
  EXPECT_EQ(site->classes[0].walltime, std::chrono::hours(24));
  EXPECT_FALSE(site->classes[1].jobs_per_user);
}

TEST(PolicySiteTest, APolicyWithoutClassesIsRefused) {
  const auto site = site_of(policy::Policy{}, SimulateOptions{});
  ASSERT_FALSE(site);
  EXPECT_EQ(site.error().code, ErrorCode::kBadRequest);
}

}  // namespace
}  // namespace pounce::ctl
