#include <gtest/gtest.h>

#include "pouncectl/cluster_tables.h"

namespace pounce::ctl {
namespace {

ClassUse lion() {
  ClassUse use;
  use.name = "lion";
  use.time_min = 1440;
  use.jobs_most = 4;
  use.jobs_used = 3;
  return use;
}

TEST(ClassCellsTest, SayWhatIsLeft) {
  EXPECT_EQ(class_cells({lion()})[1], (Cells{"lion", "1 d", "1 of 4 left", "", "no limit", ""}));
}

TEST(ClassCellsTest, NothingIsLeftOfALimitThatWasLoweredBelowItsUse) {
  ClassUse use = lion();
  use.jobs_most = 2;
  use.gpus_used = 3;
  use.preset = true;
  EXPECT_EQ(class_cells({use})[1],
            (Cells{"lion (where none is named)", "1 d", "0 of 2 left", "", "no limit, 3 in use", ""}));
}

TEST(ClassCellsTest, AClassWithoutGpusSaysSo) {
  ClassUse use = lion();
  use.gpus_most = 0;
  EXPECT_EQ(class_cells({use})[1], (Cells{"lion", "1 d", "1 of 4 left", "", "none", ""}));
}

TEST(ClassCellsTest, GpusAreNamedByTheirType) {
  EXPECT_EQ(gpu_cells({{"a100", 6, 2}, {"", 3, 0}}),
            (std::vector<Cells>{{"GPU", "FREE", "ALL"}, {"a100", "2", "6"}, {"any", "0", "3"}}));
}

}  // namespace
}  // namespace pounce::ctl
