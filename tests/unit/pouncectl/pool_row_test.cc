// A pool's leases as one row.
#include <gtest/gtest.h>

#include "pouncectl/lease_row.h"

namespace pounce::ctl {
namespace {

LeaseRow of_pool(std::string session, std::uint32_t ready, std::string node, std::string reason = {}) {
  LeaseRow row;
  row.session = std::move(session);
  row.resources.gpus = 1;
  row.resources.leases_most = 16;
  row.workers_ready = ready;
  row.node = std::move(node);
  row.reason = std::move(reason);
  row.waiting = 3;
  row.state = ready > 0 ? "busy" : "queued";
  return row;
}

TEST(PoolRowTest, SaysHowManyWorkersAreThereAndWhyTheOthersAreNot) {
  const auto pools =
      pool_rows({of_pool("aa", 1, "g1"), of_pool("aa", 1, "g2"), of_pool("aa", 1, "g2"), of_pool("aa", 0, ""),
                 of_pool("aa", 0, "", "The class runs 3 of your jobs at a time.")});
  ASSERT_EQ(pools.size(), 1u);
  EXPECT_EQ(line_of(pools[0]), "3 of 16 workers, 2 nodes, 2 wait: The class runs 3 of your jobs at a time");
}

TEST(PoolRowTest, TheSameWishesOfTwoNotebooksAreTwoPools) {
  EXPECT_EQ(pool_rows({of_pool("aa", 1, "g1"), of_pool("bb", 1, "g1")}).size(), 2u);
}

TEST(PoolRowTest, ALeaseAloneIsNoPool) {
  LeaseRow alone = of_pool("aa", 1, "g1");
  alone.resources.leases_most = 0;
  EXPECT_TRUE(pool_rows({alone}).empty());
}

TEST(PoolRowTest, APoolThatHasNobodyYetSaysWhatItWaitsFor) {
  EXPECT_EQ(line_of(pool_rows({of_pool("aa", 0, "", "Slurm has put it in its queue.")})[0]),
            "0 of 16 workers, 1 waits: Slurm has put it in its queue");
}

}  // namespace
}  // namespace pounce::ctl
