// Who holds what, as pouncectl top shows it.
#include <gtest/gtest.h>

#include "pouncectl/cluster_tables.h"

namespace pounce::ctl {
namespace {

AllocatedJob job(std::uint32_t number, std::string user, bool running, std::map<std::string, std::uint32_t> gpus) {
  AllocatedJob one;
  one.job = number, one.user = std::move(user), one.running = running, one.gpus = std::move(gpus);
  one.class_name = "lion", one.submit_s = 1000 + number, one.start_s = running ? 2000 + number : 0;
  return one;
}

TEST(AllocationsTest, ShowsThoseWithTheMostGpusFirstAndThenTheLongest) {
  const auto jobs =
      by_weight({job(3, "a", true, {{"a100", 1}}), job(1, "b", true, {}), job(2, "c", true, {{"a100", 1}}),
                 job(4, "d", true, {{"a100", 1}, {"h100", 1}}), job(5, "e", false, {{"a100", 8}})});
  std::string order;
  for (const AllocatedJob& one : jobs) order += one.user;
  EXPECT_EQ(order, "dcab");
}

TEST(AllocationsTest, CountsWhatWaitsByClassWithItsReasons) {
  auto first = job(7, "a", false, {{"a100", 2}}), second = job(8, "b", false, {}), other = job(9, "c", false, {});
  first.reason = "Priority", second.reason = "Resources", other.class_name = "cheetah", other.reason = "None";
  const auto cells = queue_cells(queues_of({second, first, other, job(1, "d", true, {})}), 1067);
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[1], (Cells{"cheetah", "1", "", "58 s", "None"}));
  EXPECT_EQ(cells[2], (Cells{"lion", "2", "2", "1 min", "1 Priority, 1 Resources"}));
}

TEST(AllocationsTest, CountsThoseThatWaitAlikeEachByItself) {
  auto alike = job(7, "a", false, {{"a100", 2}}), other = job(8, "b", false, {});
  alike.reason = other.reason = "Priority", alike.count = 50'000;
  const auto queues = queues_of({alike, other});
  ASSERT_EQ(queues.size(), 1u);
  EXPECT_EQ(queues[0].jobs, 50'001u);
  EXPECT_EQ(queues[0].gpus, 100'000u);
  EXPECT_EQ(queues[0].reasons.at("Priority"), 50'001u);
}

TEST(AllocationsTest, TellsWhetherAnOwnLeaseWorks) {
  auto lease = job(5, "alice", true, {{"a100_3g.20gb", 1}, {"", 2}});
  lease.lease = "3f2a91bc00000001", lease.end_s = 2605, lease.cpus = 4, lease.node = "g1";
  const auto cells = held_cells({lease, job(6, "bob", true, {})}, {{5, "idle"}}, 2065);
  EXPECT_EQ(cells[1],
            (Cells{"alice", "lion", "5", "g1", "2, 1 a100_3g.20gb", "4", "idle", "1 min", "9 min", "pounce 3f2a91bc"}));
  EXPECT_EQ(cells[2][6], "runs");
  EXPECT_EQ(cells[2][8], "");  // no time limit
}

// Its comment says so, and anybody can write one.
TEST(AllocationsTest, SaysOfALeaseThatItsDaemonDoesNotKnowThatItIsSaid) {
  auto mine = job(5, "alice", true, {}), theirs = job(6, "mallory", true, {}), other = job(7, "bob", true, {});
  mine.lease = theirs.lease = "3f2a91bc00000001", other.name = "train", other.batch = true;
  const auto cells = held_cells({mine, theirs, other}, {{5, "busy"}}, 2065);
  EXPECT_EQ(cells[1].back(), "pounce 3f2a91bc");
  EXPECT_EQ(cells[2].back(), "said: pounce 3f2a91bc");
  EXPECT_EQ(cells[3].back(), "batch train");
}

}  // namespace
}  // namespace pounce::ctl
