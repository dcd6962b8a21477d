#include <gtest/gtest.h>

#include "device/devices.h"

namespace pounce::device {
namespace {

TEST(DeviceNameTest, IsTheFirstOfItsKindWithoutANumber) {
  EXPECT_EQ(DeviceName::parse("cuda")->text(), "cuda:0");
  EXPECT_EQ(DeviceName::parse("host")->text(), "host:0");
}

TEST(DeviceNameTest, HasANumber) {
  EXPECT_EQ(DeviceName::parse("cuda:17"), (DeviceName{DeviceName::Kind::kCuda, Ordinal{17}}));
}

TEST(DeviceNameTest, RefusesWhatNamesNone) {
  for (const char* word :
       {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999", "host:", ":0", "CUDA"}) {
    const auto name = DeviceName::parse(word);

    ASSERT_FALSE(name) << word;
    EXPECT_EQ(name.error().code, ErrorCode::kBadRequest);
    EXPECT_NE(name.error().remedy, "");
  }
}

}  // namespace
}  // namespace pounce::device
