// What we wrote down of NCCL, beside its own header and library, where the build found them
// (packaging/requirements-nccl.txt).
#include <gtest/gtest.h>

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime_api.h>)
#include <nccl.h>

#include <cstddef>

#include "device/nccl.h"

namespace pounce::device {
namespace {

static_assert(nccl::kSuccess == ncclSuccess && nccl::kUnhandledCuda == ncclUnhandledCudaError &&
              nccl::kSystem == ncclSystemError);
static_assert(nccl::kInternal == ncclInternalError && nccl::kInvalidArgument == ncclInvalidArgument &&
              nccl::kInvalidUsage == ncclInvalidUsage);
static_assert(nccl::kRemote == ncclRemoteError && nccl::kInProgress == ncclInProgress && nccl::kBytes == ncclInt8);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
static_assert(nccl::kTimeout == ncclTimeout);
#endif
static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId) && GroupId::kBytes == NCCL_UNIQUE_ID_BYTES);
static_assert(offsetof(nccl::Config, magic) == offsetof(ncclConfig_t, magic) &&
              offsetof(nccl::Config, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(nccl::Config, blocking) == offsetof(ncclConfig_t, blocking) &&
              sizeof(nccl::Config) <= sizeof(ncclConfig_t));
static_assert(NCCL_VERSION(2, 14, 0) == nccl::Config{}.version);

TEST(NcclDeclarationsTest, TheConfigurationBeginsAsNcclsOwn) {
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;

  EXPECT_EQ(nccl::Config{}.magic, theirs.magic);
}

TEST(NcclDeclarationsTest, TheLibraryOfTheBuildHasAllFunctionsThatWeCall) {
  const auto opened = Nccl::open({POUNCE_NCCL_LIBRARY});

  EXPECT_TRUE(opened) << opened.error().text;
}

}  // namespace
}  // namespace pounce::device

#else

TEST(NcclDeclarationsTest, TheConfigurationBeginsAsNcclsOwn) {
  GTEST_SKIP() << "not run: the build found no header of NCCL, or none of CUDA";
}

#endif
