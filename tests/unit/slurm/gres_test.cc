#include <gtest/gtest.h>

#include "slurm/slurm_values.h"

namespace pounce::slurm {
namespace {

using Gpus = std::map<std::string, std::uint32_t>;

TEST(GresTest, CountsByType) {
  EXPECT_EQ(gpus_of("gpu:a100:2,gpu:a100_3g.20gb:2"), (Gpus{{"a100", 2}, {"a100_3g.20gb", 2}}));
  EXPECT_EQ(gpus_of("gpu:a100:2(S:0-1),gpu:a100:1(IDX:0,3)"), (Gpus{{"a100", 3}}));
}

TEST(GresTest, ATypeMayBeMissing) {
  EXPECT_EQ(gpus_of("gpu:4"), (Gpus{{"", 4}}));
  EXPECT_EQ(gpus_of("gpu"), (Gpus{{"", 1}}));
  EXPECT_EQ(gpus_of("gpu:a100"), (Gpus{{"a100", 1}}));
}

TEST(GresTest, LeavesOutWhatIsNoGpu) {
  EXPECT_EQ(gpus_of("shard:a100:8,gpumem:80,mps:100"), Gpus{});
  EXPECT_EQ(gpus_of(""), Gpus{});
}

}  // namespace
}  // namespace pounce::slurm
