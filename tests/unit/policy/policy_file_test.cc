// What a policy file may say, and how each mistake in it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/policy.h"
#include "policy/policy_keys.h"

namespace pounce::policy {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

std::string complaint(const std::string& text) {
  const auto policy = parse_policy(text);
  return policy ? "no complaint" : policy.error().text;
}

TEST(PolicyFileTest, ReadsAClassWithAllItsRules) {
  const auto policy = parse_policy(R"({
    // comments are allowed
    "classes": {
      "lion": {"qos": "big", "partition": "bigcats", "account": "ml", "walltime": "24h", "running_jobs_per_user": 4,
               "submitted_jobs_per_user": 9, "gpus_per_user": 0, "priority": 10, "preempts": ["tabby"], "grace": "90s", "deny_on_limit": true},
      "tabby": {"qos": "small"}
    }})");
  ASSERT_TRUE(policy) << policy.error().text;
  ASSERT_EQ(policy->classes.size(), 2u);
  const Class& lion = policy->classes[0];
  EXPECT_EQ(lion.partition, "bigcats");
  EXPECT_EQ(lion.account, "ml");
  EXPECT_EQ(lion.qos, (Qos{.name = "big",
                           .walltime = minutes(1440),
                           .running_jobs_per_user = 4,
                           .submitted_jobs_per_user = 9,
                           .gpus_per_user = 0,
                           .priority = 10,
                           .preempts = {"small"},
                           .grace = seconds(90),
                           .deny_on_limit = true}));
  EXPECT_EQ(policy->classes[1].qos, Qos{"small"});
}

TEST(PolicyFileTest, ReadsWhatPouncedWillReadOfIt) {
  const auto policy = parse_policy(R"({
    "classes": {"a": {}, "b": {}}, "fallbacks": {"a": ["b"]}, "gpu_types": {"a100": "40GB", "old": "512MB"},
    "leasing": {"keep_warm": "10min", "idle_release": "2min", "poll_max": "30s", "starts_per_hour": 60,
                "parked_keep": "7d", "parked_most": "2GB", "cell_output": "16MB", "keep_cells": true},
    "slurm_options": ["constraint"], "prologue": "module load cuda", "interpreter": "{home}/bin/python",
    "container": "run image {command}", "ports": "50000-50999", "interface": "eth0",
    "notify": "/etc/pounce/notify"})");
  ASSERT_TRUE(policy) << policy.error().text;
  EXPECT_EQ(policy->fallbacks.at("a"), std::vector<std::string>{"b"});
  EXPECT_EQ(policy->gpu_memory_mib.at("a100"), 40 * 1024u);
  EXPECT_EQ(policy->gpu_memory_mib.at("old"), 512u);
  EXPECT_EQ(policy->leasing.keep_warm, seconds(600));
  EXPECT_EQ(policy->leasing.starts_per_hour, 60u);
  EXPECT_EQ(policy->leasing.parked_keep, std::chrono::hours(7 * 24));
  EXPECT_EQ(policy->leasing.parked_most->count, 2048u);
  EXPECT_EQ(policy->leasing.cell_output->count, 16u);
  EXPECT_EQ(policy->leasing.keep_cells, true);
  EXPECT_EQ(policy->ports, (std::pair<std::uint16_t, std::uint16_t>(50000, 50999)));
  EXPECT_EQ(policy->interface, "eth0");
  EXPECT_EQ(policy->notify, "/etc/pounce/notify");
}

TEST(PolicyFileTest, AnEmptyPolicyIsOne) { EXPECT_TRUE(parse_policy("{}")); }

struct Mistake {
  const char *text, *told;
};

class MistakeTest : public ::testing::TestWithParam<Mistake> {};

TEST_P(MistakeTest, IsToldWithItsPlace) { EXPECT_THAT(complaint(GetParam().text), HasSubstr(GetParam().told)); }

INSTANTIATE_TEST_SUITE_P(
    All, MistakeTest,
    ::testing::Values(
        Mistake{"{\n\n  \"classes\": nothing}", "line 3, column 15"}, Mistake{"[]", "not a JSON object"},
        Mistake{R"({"clases": {}})", R"(unknown key "clases"; did you mean "classes"?)"},
        Mistake{R"({"classes": {"lion": {"walltme": "1h"}}})",
                R"(unknown key "walltme" in classes.lion; did you mean "walltime"?)"},
        Mistake{R"({"leasing": {"keep_wram": "1h"}})", R"(in leasing; did you mean "keep_warm"?)"},
        Mistake{R"({"*": 1})", R"(unknown key "*")"},
        Mistake{R"({"classes": {"lion": {}, "lion": {}}})", R"("lion" stands twice)"},
        Mistake{R"({"classes": {"": {}}})", "empty"}, Mistake{R"({"classes": []})", "classes is an object"},
        Mistake{R"({"classes": {"lion": 3}})", "classes.lion is an object"},
        Mistake{R"({"classes": {"lion": {"walltime": "24x"}}})",
                "classes.lion.walltime is a duration of whole minutes"},
        Mistake{R"({"classes": {"lion": {"walltime": "UNLIMITED"}}})",
                "classes.lion.walltime is a duration of whole minutes"},
        Mistake{R"({"leasing": {"keep_warm": "24"}})", "leasing.keep_warm is a duration such as"},
        Mistake{R"({"classes": {"lion": {"walltime": 24}}})", "not 24"},
        Mistake{R"({"classes": {"lion": {"walltime": "90s"}}})", "classes.lion.walltime"},
        Mistake{R"({"classes": {"lion": {"walltime": "-1h"}}})", "classes.lion.walltime"},
        Mistake{R"({"classes": {"lion": {"walltime": "99999999999999999999h"}}})", "classes.lion.walltime"},
        Mistake{R"({"classes": {"lion": {"running_jobs_per_user": -1}}})", "is a whole number, not -1"},
        Mistake{R"({"classes": {"lion": {"gpus_per_user": 4294967296}}})", "classes.lion.gpus_per_user"},
        Mistake{R"({"classes": {"lion": {"deny_on_limit": "yes"}}})", "true or false"},
        Mistake{R"({"classes": {"lion": {"qos": ""}}})", "classes.lion.qos is a text"},
        Mistake{R"({"classes": {"lion": {"preempts": ["tabbi"]}, "tabby": {}}})", R"(did you mean "tabby"?)"},
        Mistake{R"({"classes": {"lion": {"preempts": ["lion"]}}})", "classes.lion.preempts names lion itself"},
        Mistake{R"({"classes": {"a": {"preempts": ["b"]}, "b": {"preempts": ["c"]}, "c": {"preempts": ["b"]}}})",
                "classes.b.preempts is a circle"},
        Mistake{R"({"classes": {"a": {}, "b": {"preempts": ["a", "a"]}}})", "a list of different texts"},
        Mistake{R"({"classes": {"a": {"qos": "x"}, "b": {"qos": "x"}}})", "have the same QoS, x"},
        Mistake{R"({"classes": {"Lion": {}}})", R"(QoS "Lion" may have small letters)"},
        Mistake{R"({"classes": {"lion": {"qos": "a,b"}}})", R"(QoS "a,b" may have small letters)"},
        Mistake{R"({"classes": {"a": {}}, "fallbacks": {"b": ["a"]}})", R"(fallbacks names "b")"},
        Mistake{R"({"classes": {"a": {}}, "fallbacks": {"a": ["b"]}})", R"(fallbacks.a names "b")"},
        Mistake{R"({"gpu_types": {"a100": 40}})", "gpu_types.a100 is an amount of memory"},
        Mistake{R"({"slurm_options": ["constrain"]})", R"(did you mean "constraint"?)"},
        Mistake{R"({"container": "run image"})", "{command}"},
        Mistake{R"({"interpreter": "{hom}/python"})", R"(did you mean "home"?)"},
        Mistake{R"({"notify": "notify --mail"})", "notify is a program by its whole path"},
        Mistake{R"({"ports": "50999-50000"})", "ports is a range"},
        Mistake{R"({"ports": "80-90"})", "ports is a range"},
        Mistake{R"({"ports": "70000-70001"})", "ports is a range"}));

TEST(PolicyTextTest, ComesBackAsItWent) {
  const std::vector<Qos> all = {
      {.name = "cheetah",
       .walltime = minutes(30),
       .running_jobs_per_user = 20,
       .submitted_jobs_per_user = 30,
       .gpus_per_user = 2,
       .priority = 20,
       .preempts = {"normal", "tabby"},
       .grace = seconds(90),
       .deny_on_limit = true},
      {.name = "normal"},
      {.name = "tabby", .walltime = minutes(720), .running_jobs_per_user = 1, .gpus_per_user = 0, .priority = 10}};
  const auto policy = parse_policy(policy_text(all));
  ASSERT_TRUE(policy) << policy.error().text;
  EXPECT_EQ(all_qos(*policy), all);
}

TEST(DurationTest, IsWrittenInItsLargestWholeUnit) {
  for (const char* text : {"0s", "90s", "30min", "90min", "12h", "36h", "7d"})
    EXPECT_EQ(duration_text(*duration_from(text)), text);
  EXPECT_EQ(duration_text(*duration_from("24h")), "1d");
  EXPECT_FALSE(duration_from("h"));
  EXPECT_FALSE(duration_from("0.5s"));
  EXPECT_FALSE(duration_from(""));
}

TEST(DurationTest, AWalltimeIsWrittenAsSbatchTakesItToo) {
  for (const char* text : {"2160", "2160:00", "36:00:00", "1-12", "1-12:00", "1-12:00:00", "36h", "1d12h"})
    EXPECT_EQ(minutes_from(text), minutes(2160)) << text;
  EXPECT_EQ(duration_from("1-12"), minutes(2160));
  EXPECT_FALSE(duration_from("2160"));
}

}  // namespace
}  // namespace pounce::policy
