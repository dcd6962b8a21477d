// What `pouncectl policy explain --request` takes: the options of Client.options, under the same bounds.
#include <gtest/gtest.h>

#include "pouncectl/policy/policy_commands.h"

namespace pounce::ctl {
namespace {

std::string refusal(const std::string& text) {
  const auto asked = request_from(text);
  return asked ? "" : asked.error().text;
}

TEST(PolicyRequestTest, TakesTheOptionsByTheirNames) {
  const auto asked = request_from(R"({"gpus": 2, "memory": "8GB", "time": "20min", "workers": 3})");
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->gpus, 2u);
  EXPECT_EQ(asked->memory_mib, 8192u);
  EXPECT_EQ(asked->time, std::chrono::minutes(20));
  EXPECT_EQ(asked->workers, 3u);
}

// 2^32 + 1 GPUs were one, and 100 million workers were explained as if they could be.
TEST(PolicyRequestTest, NoNumberIsCutToFit) {
  EXPECT_EQ(refusal(R"({"gpus": 4096})"), "");
  EXPECT_EQ(refusal(R"({"gpus": 4097})"), "gpus cannot be 4097");
  EXPECT_EQ(refusal(R"({"gpus": 4294967297})"), "the request's \"gpus\" cannot be 4294967297");
  EXPECT_EQ(refusal(R"({"workers": 100000000})"), "workers cannot be 100000000");
  EXPECT_EQ(refusal(R"({"gpus": 4096, "workers": 2})"), "2 workers would have 8192 GPUs of one node");
  EXPECT_EQ(refusal(R"({"memory": "4194304GB", "time": "3650d"})"), "");
  EXPECT_EQ(refusal(R"({"memory": "4194305GB"})"), "the request's \"memory\" cannot be \"4194305GB\"");
  EXPECT_EQ(refusal(R"({"time": "3651d"})"), "the request's \"time\" cannot be \"3651d\"");
}

}  // namespace
}  // namespace pounce::ctl
