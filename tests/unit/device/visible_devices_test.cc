// Which devices a worker may use: those of its lease, each rank its own.
#include <gtest/gtest.h>

#include "device/devices.h"

namespace pounce::device {
namespace {

TEST(VisibleDevicesTest, AreThoseOfTheLeaseInAnyOrderAndSpelling) {
  EXPECT_TRUE(only_leased({"GPU-aa", "MIG-bb"}, {"MIG-bb", "GPU-aa"}));
  EXPECT_TRUE(only_leased({"GPU-bb"}, {"MIG-BB"}));  // CUDA does not tell a slice from a GPU
  EXPECT_TRUE(only_leased({}, {}));
}

TEST(VisibleDevicesTest, OfSomebodyElseAreNamed) {
  const auto checked = only_leased({"GPU-aa", "GPU-cc"}, {"GPU-aa"});

  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kDeviceUnavailable);
  EXPECT_EQ(checked.error().text, "the GPUs that this worker sees are not those of its lease: GPU-cc is not in it");
  EXPECT_EQ(checked.error().context.at("foreign"), "GPU-cc");
}

TEST(VisibleDevicesTest, ThatAreNotSeenAreNamed) {
  const auto checked = only_leased({"GPU-cc"}, {"GPU-aa", "GPU-bb"});

  ASSERT_FALSE(checked);
  EXPECT_EQ(
      checked.error().text,
      "the GPUs that this worker sees are not those of its lease: GPU-cc is not in it, GPU-aa, GPU-bb is not seen");
  EXPECT_EQ(checked.error().context.at("absent"), "GPU-aa, GPU-bb");
}

TEST(VisibleDevicesTest, ServeOneRankEach) {
  EXPECT_TRUE(one_rank_each({"GPU-aa", "GPU-bb"}));

  const auto shared = one_rank_each({"GPU-aa", "GPU-bb", "GPU-AA"});

  ASSERT_FALSE(shared);
  EXPECT_EQ(shared.error().code, ErrorCode::kBadRequest);
  EXPECT_EQ(shared.error().text, "ranks 0 and 2 would use one device, GPU-AA");
}

}  // namespace
}  // namespace pounce::device
