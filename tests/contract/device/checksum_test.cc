// The code for GPUs that looks at their memory: compiled wherever nvcc is, and there as a library would be looked for.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <fstream>
#include <sstream>

#include "contract/device/kinds.h"

namespace pounce::device {
namespace {

#ifdef POUNCE_CHECKSUM

TEST(ChecksumTest, IsCompiledForTheDevice) {
  std::stringstream library;
  library << std::ifstream(built(POUNCE_CHECKSUM), std::ios::binary).rdbuf();

  EXPECT_THAT(library.str(), testing::HasSubstr(".nv_fatbin"));
  EXPECT_THAT(library.str(), testing::HasSubstr("checksum_of_bytes"));
}

TEST(ChecksumTest, IsCalledByItsName) {
  void* library = ::dlopen(built(POUNCE_CHECKSUM).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto ask =
      reinterpret_cast<int (*)(int, const void*, std::uint64_t, std::uint64_t*)>(::dlsym(library, "pounce_checksum"));
  ASSERT_NE(ask, nullptr);
  std::uint64_t sum = 0;

  EXPECT_NE(ask(4000, nullptr, 0, &sum), 0);  // no machine has that device
}

#else

TEST(ChecksumTest, IsCompiledForTheDevice) { GTEST_SKIP() << "not run: the build found no nvcc"; }

#endif

}  // namespace
}  // namespace pounce::device
