// When a GPU is not to be used any more.
#include <gtest/gtest.h>

#include "device/nvml.h"

namespace pounce::device {
namespace {

TEST(GpuHealthTest, AProgramsOwnFaultLeavesTheGpuInUse) {
  for (const std::uint64_t xid : {13, 31, 43, 45, 69}) {
    EXPECT_EQ(meaning_of_xid(xid), XidMeaning::kProgram) << xid;
    EXPECT_FALSE(failure_of("GPU-aa", {.gone = false, .xids = {xid}})) << xid;
  }
}

TEST(GpuHealthTest, AFaultOfTheGpuTakesItOutOfUse) {
  for (const std::uint64_t xid : {48, 62, 64, 74, 79, 95, 119, 120, 140}) {
    const auto failed = failure_of("GPU-aa", {.gone = false, .xids = {13, xid}});

    ASSERT_TRUE(failed) << xid;
    EXPECT_EQ(failed->code, ErrorCode::kDeviceFailed);
    EXPECT_EQ(failed->text, "the GPU GPU-aa failed: its driver reports Xid " + std::to_string(xid));
    EXPECT_EQ(failed->context.at("gpu"), "GPU-aa");
  }
}

TEST(GpuHealthTest, ANumberThatNobodyKnowsIsUnknownAndTakesNothingOutOfUse) {
  for (const std::uint64_t xid : {0ull, 63ull, 94ull, 999ull, ~0ull}) {
    EXPECT_EQ(meaning_of_xid(xid), XidMeaning::kUnknown) << xid;
    EXPECT_FALSE(failure_of("GPU-aa", {.gone = false, .xids = {xid}})) << xid;
  }
}

TEST(GpuHealthTest, OneThatIsGoneSaysSoBeforeAllElse) {
  EXPECT_EQ(failure_of("GPU-aa", {.gone = true, .xids = {48}, .memory_failed = true})->text,
            "the GPU GPU-aa failed: its driver does not reach it any more");
}

TEST(GpuHealthTest, MemoryThatWasNotCorrectedIsAFailure) {
  EXPECT_EQ(failure_of("GPU-aa", {.gone = false, .xids = {}, .memory_failed = true})->text,
            "the GPU GPU-aa failed: an error of its memory could not be corrected (ECC)");
}

TEST(GpuHealthTest, OneThatReportsNothingIsFine) { EXPECT_FALSE(failure_of("GPU-aa", {})); }

}  // namespace
}  // namespace pounce::device
